"""Make the PDF and Word files of the corpus: `python tests/retrieval/build_binaries.py` (needs Chromium).

The results are committed; run this only to change them.
"""

import html
import subprocess
import tempfile
from pathlib import Path

import docx

CORPUS = Path(__file__).parent / "corpus"
Sections = list[tuple[str, list[str]]]


def invoice(number: str, date: str, supplier: str, lines: list[tuple[str, int, float]], due: str, note: str) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{count}</td><td>{price:.2f}</td><td>{count * price:,.2f}</td></tr>"
        for name, count, price in lines
    )
    total = sum(count * price for _, count, price in lines)
    return f"""<html><head><title>Invoice {number}</title></head><body style="font-family: sans-serif">
        <h1>Invoice {number}</h1><p>{html.escape(supplier)}<br>Invoice date: {date}<br>
        Customer: Harbour Street Brewing</p>
        <table border="1"><tr><th>Item</th><th>Quantity</th><th>Price (EUR)</th><th>Sum (EUR)</th></tr>{rows}</table>
        <p>Total amount of invoice {number}: {total:,.2f} euros.</p><p>{html.escape(due)}</p><p>{html.escape(note)}</p>
        </body></html>"""


PDFS = {
    "invoice-0042.pdf": invoice(
        "INV-0042",
        "3 April 2025",
        "Northwind Malt Ltd, 8 Mill Lane, Norwich",
        [("Pale ale malt, 25 kg sack", 80, 21.5), ("Flaked oats, 25 kg sack", 12, 27.0)],
        "Payable within 30 days by bank transfer. Purchase order PO-66120.",
        "Two sacks of the delivery were torn; a credit note follows.",
    ),
    "invoice-0043.pdf": invoice(
        "INV-0043",
        "17 April 2025",
        "Carlsen Glassworks, Quay 4, Aarhus",
        [("Brown bottle 330 ml, pallet", 6, 412.0), ("Crown caps, box of 10,000", 9, 64.4)],
        "Payable within 14 days by bank transfer. Purchase order PO-66137.",
        "Empty pallets are collected with the next delivery.",
    ),
    "cleaning-agent-sheet.pdf": """<html><head><title>Safety data sheet: Alkaclean 50</title></head>
        <body style="font-family: serif"><h1>Safety data sheet: Alkaclean 50</h1>
        <h2>Identification</h2><p>Alkaclean 50 is a caustic cleaning agent for tanks and pipes. It contains sodium
        hydroxide, 25 to 50 percent, CAS number 1310-73-2, UN number 1824.</p>
        <h2>Handling and storage</h2><p>Wear goggles, an apron and chemical gloves made of nitrile. Always pour the
        concentrate into water, never water into the concentrate. Store it upright between 5 and 30 degrees, away from
        acids and aluminium.</p>
        <h2>Spills</h2><p>Bind small spills of Alkaclean with sand and neutralise the rest with citric acid. Do not let
        it run into the drain.</p></body></html>""",
}

DOCUMENTS: dict[str, tuple[str, Sections]] = {
    "boiler-manual.docx": (
        "Steam Boiler Vapora 300: Operating Manual",
        [
            (
                "Starting the boiler",
                [
                    "Open the feed water valve, check that the water gauge shows the middle mark, and press Start. The"
                    " boiler needs about twenty-five minutes until the steam pressure reaches six bar.",
                ],
            ),
            (
                "Error codes",
                [
                    "E05: the flame was not detected. Clean the photocell of the burner and press Reset.",
                    "E12: the water level is too low. Check the feed water pump and the strainer before it.",
                    "E21: the exhaust gas is hotter than 230 degrees. Soot lies on the heating surface: have it swept.",
                ],
            ),
            (
                "Blowdown",
                [
                    "Blow down the boiler once a shift: open the blowdown valve for five seconds so that sludge leaves"
                    " the bottom. Write the time into the boiler log book.",
                ],
            ),
        ],
    ),
    "lease.docx": (
        "Lease of the Taproom at 19 Harbour Street",
        [
            (
                "Rent and deposit",
                [
                    "The monthly rent of the taproom is 3,450 euros, payable by the third working day of the month. The"
                    " tenant has paid a deposit of three monthly rents, which is returned within six months after the"
                    " end of the lease.",
                ],
            ),
            (
                "Term and termination",
                [
                    "The lease runs for ten years from 1 May 2019. The tenant may extend it twice by five years. The"
                    " landlord must be told of an extension in writing twelve months before the term ends.",
                ],
            ),
            (
                "Music and neighbours",
                [
                    "Live music in the taproom must end at 22:30. The tenant keeps the windows to the courtyard closed"
                    " while music is played.",
                ],
            ),
        ],
    ),
}


def write_pdf(path: Path, page: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page, encoding="utf-8")
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        subprocess.run([*command, f"--print-to-pdf={path}", source.as_uri()], check=True, timeout=120)


def write_docx(path: Path, title: str, sections: Sections) -> None:
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading(title, level=1)
    for heading, paragraphs in sections:
        document.add_heading(heading, level=2)
        for paragraph in paragraphs:
            document.add_paragraph(paragraph)
    document.save(str(path))


if __name__ == "__main__":
    for name, page in PDFS.items():
        write_pdf(CORPUS / name, page)
    for name, (title, sections) in DOCUMENTS.items():
        write_docx(CORPUS / name, title, sections)
