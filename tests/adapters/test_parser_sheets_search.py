"""A workbook through the whole service."""

import httpx2
from front_door import add
from sheet_files import SheetFile, Value, make_xlsx


async def test_a_row_of_a_workbook_is_found_with_its_sheet_cells_and_column_names(client: httpx2.AsyncClient) -> None:
    cells: dict[str, Value] = {"B2": "Part", "C2": "Place"}
    cells |= {f"B{row}": f"pump {row}" for row in range(3, 120)} | {f"C{row}": f"bay {row}" for row in range(3, 120)}
    book = make_xlsx(SheetFile("Cover", {"A1": "Stock"}), SheetFile("Spare parts", cells))
    document = await add(client, "stock.xlsx", book)
    assert document["status"] == "ready" and document["metadata"]["document"]["sheets"] == 2
    answer = await client.post("/api/v1/search", json={"query": '"pump 87"'})
    hit = answer.json()["hits"][0]
    assert hit["headingPath"] == ["Spare parts"] and hit["location"]["sheet"] == "Spare parts"
    assert "Part | Place" in hit["content"] and "pump 87 | bay 87" in hit["content"]
    first, last = (int(cell[1:]) for cell in hit["location"]["cellRange"].split(":"))
    rows = [line for line in hit["content"].split("\n") if line.startswith("pump")]
    assert rows == [f"pump {row} | bay {row}" for row in range(max(first, 3), last + 1)]
