"""Sets of judged queries and their runs, on every database."""

import pytest
from contract_kit import Backend, new_document

from mcp_knowledge.adapters.rows.evaluations import SqlEvaluationStore
from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.domain.evaluation_scores import scored, summary
from mcp_knowledge.domain.evaluations import Case, DocumentRef, QueryResult, Run, RunSettings
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import EvaluationStore, NewRun, Position

MAX_CASES = 4
SETTINGS = RunSettings("hybrid", "relative", ("col_1",), {"year": {"gte": 2024}})


@pytest.fixture
def evaluations(backend: Backend) -> EvaluationStore:
    return SqlEvaluationStore(backend.database)


@pytest.fixture
def elsewhere(other_process: Backend) -> EvaluationStore:
    return SqlEvaluationStore(other_process.database)


async def new_run(evaluations: EvaluationStore, set_id: str) -> Run:
    new = NewRun(new_id("run"), set_id, "hybrid", SETTINGS, {"chunkTargetTokens": 180}, "generation:7")
    return (await evaluations.create_runs([new]))[0]


def result(number: int) -> QueryResult:
    found = [DocumentRef("doc_1", 'A "title" with \u2028 and 中文'), DocumentRef("doc_2", "Second")]
    case = Case(f"q{number}", f"question {number}", relevant=("doc_2", "doc_gone"), wrong=("doc_1",), kind="k")
    return scored(case, found, {"doc_1": "First", "doc_2": "Second"}, elapsed_ms=1.25)


async def test_a_name_is_taken_without_regard_to_case(evaluations: EvaluationStore, elsewhere: EvaluationStore) -> None:
    made = await evaluations.create_set("Straße", "Queries of people")
    assert await elsewhere.get_set(made.id) == made
    assert await elsewhere.find_set("STRASSE") == made
    with pytest.raises(KnowledgeError, match="EVALUATION_EXISTS"):
        await elsewhere.create_set("strasse", None)
    other = await evaluations.create_set("Other", None)
    with pytest.raises(KnowledgeError, match="EVALUATION_EXISTS"):
        await evaluations.update_set(other.id, name="STRAßE")
    assert (await evaluations.update_set(made.id, name="STRASSE", description=None)).description is None


async def test_sets_are_listed_newest_first_in_pages(backend: Backend, evaluations: EvaluationStore) -> None:
    made = []
    for number in range(5):
        made.append(await evaluations.create_set(f"Set {number}", None))
        backend.clock.forward(1)
    first = await evaluations.list_sets(2)
    rest = await evaluations.list_sets(10, Position(first[-1].created_at_ms, first[-1].id))
    assert first + rest == made[::-1]


async def test_judging_a_query_again_changes_its_one_case(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    await evaluations.revise_case(made.id, "Who  pays?", lambda case: case.with_verdict("doc_1", "right"), MAX_CASES)
    case = await evaluations.revise_case(
        made.id, "who pays?", lambda case: case.with_verdict("doc_2", "wrong"), MAX_CASES
    )
    assert case is not None
    assert (case.query, case.relevant, case.wrong) == ("Who  pays?", ("doc_1",), ("doc_2",))
    assert await evaluations.find_case(made.id, "WHO PAYS?") == case
    nothing = await evaluations.revise_case(made.id, "who pays?", lambda case: case.with_no_answer(True), MAX_CASES)
    assert nothing is not None
    assert (nothing.relevant, nothing.wrong, nothing.no_answer) == ((), ("doc_2",), True)
    answered = await evaluations.revise_case(
        made.id, "who pays?", lambda case: case.with_verdict("doc_2", "right"), MAX_CASES
    )
    assert answered is not None
    assert (answered.relevant, answered.wrong, answered.no_answer) == (("doc_2",), (), False)
    assert (await evaluations.list_sets(1))[0].case_count == 1


async def test_a_case_of_which_nothing_is_said_any_more_goes(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    await evaluations.revise_case(made.id, "one", lambda case: case.with_verdict("doc_1", "wrong"), MAX_CASES)
    assert not await evaluations.has_judged_cases(made.id)
    gone = await evaluations.revise_case(made.id, "one", lambda case: case.with_verdict("doc_1", None), MAX_CASES)
    assert gone is None
    assert await evaluations.list_cases(made.id, 10) == ([], None)


async def test_cases_come_in_pages_in_the_order_in_which_they_were_made(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    cases = [Case(f"q{number}", f"query {number}", relevant=("doc_1",), kind="fact") for number in (3, 1, 2)]
    assert await evaluations.put_cases(made.id, cases, MAX_CASES) == (3, 0)
    first, after = await evaluations.list_cases(made.id, 2)
    assert after is not None
    rest, end = await evaluations.list_cases(made.id, 2, after)
    assert end is None
    assert [case.id for case in first + rest] == ["q3", "q1", "q2"]
    assert await evaluations.has_judged_cases(made.id)


async def test_written_cases_replace_those_with_their_id_or_query(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    await evaluations.put_cases(made.id, [Case("a", "one", ("doc_1",)), Case("b", "two", no_answer=True)], MAX_CASES)
    written = [Case("a", "three", ("doc_2",)), Case("c", "TWO", ("doc_3",), unresolved=("Handbook.pdf",))]
    assert await evaluations.put_cases(made.id, written, MAX_CASES) == (0, 2)
    cases, _ = await evaluations.list_cases(made.id, 10)
    assert [(case.id, case.query, case.relevant, case.unresolved) for case in cases] == [
        ("a", "three", ("doc_2",), ()),
        ("c", "TWO", ("doc_3",), ("Handbook.pdf",)),
    ]
    with pytest.raises(KnowledgeError, match="CASE_EXISTS"):
        await evaluations.put_cases(made.id, [Case("a", "two", ("doc_1",))], MAX_CASES)


async def test_merged_cases_take_no_id_and_no_place_of_another_query(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    await evaluations.put_cases(made.id, [Case("1", "one", ("doc_1",)), Case("2", "two", ("doc_2",))], MAX_CASES)
    other_file = [Case("1", "TWO", ("doc_3",)), Case("2", "three", no_answer=True), Case("3", "four", no_answer=True)]
    assert await evaluations.merge_cases(made.id, other_file, MAX_CASES) == (2, 1)
    one, two, three, four = (await evaluations.list_cases(made.id, 10))[0]
    assert (one.id, one.query, one.relevant) == ("1", "one", ("doc_1",))
    assert (two.id, two.query, two.relevant) == ("2", "TWO", ("doc_3",))
    assert (three.query, three.no_answer, three.id not in ("1", "2", "3")) == ("three", True, True)
    assert (four.id, four.query) == ("3", "four")
    with pytest.raises(KnowledgeError, match="EVALUATION_FULL"):
        await evaluations.merge_cases(made.id, [Case("", "five", no_answer=True)], MAX_CASES)


async def test_names_become_ids_without_a_word_on_what_was_judged_meanwhile(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    await evaluations.put_cases(
        made.id, [Case("1", "one", unresolved=("a.md", "b.md", "c.md")), Case("2", "two")], MAX_CASES
    )
    await evaluations.revise_case(made.id, "one", lambda case: case.with_verdict("doc_9", "right"), MAX_CASES)
    await evaluations.revise_case(made.id, "one", lambda case: case.with_verdict("doc_2", "wrong"), MAX_CASES)
    await evaluations.resolve_cases(made.id, {"a.md": "doc_1", "b.md": "doc_2", "d.md": "doc_4"})
    one, two = (await evaluations.list_cases(made.id, 10))[0]
    assert (one.relevant, one.wrong, one.unresolved) == (("doc_9", "doc_1"), ("doc_2",), ("c.md",))
    assert (two.query, two.relevant) == ("two", ())


async def test_a_set_that_would_grow_too_large_stays_as_it_was(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    with pytest.raises(KnowledgeError, match="EVALUATION_FULL"):
        await evaluations.put_cases(made.id, [Case(str(n), str(n), no_answer=True) for n in range(5)], MAX_CASES)
    assert await evaluations.list_cases(made.id, 10) == ([], None)
    await evaluations.put_cases(made.id, [Case(str(n), str(n), no_answer=True) for n in range(4)], MAX_CASES)
    with pytest.raises(KnowledgeError, match="EVALUATION_FULL"):
        await evaluations.revise_case(made.id, "new", lambda case: case.with_no_answer(True), MAX_CASES)
    await evaluations.delete_case(made.id, "2")
    with pytest.raises(KnowledgeError, match="CASE_NOT_FOUND"):
        await evaluations.delete_case(made.id, "2")
    assert (await evaluations.list_sets(1))[0].case_count == 3


async def test_documents_are_named_by_id_path_file_or_title(backend: Backend, evaluations: EvaluationStore) -> None:
    async def add(text: str, title: str, filename: str, path: str | None = None) -> str:
        new = new_document(text, title=title, original_filename=filename, source_path=path)
        return (await backend.store.create_document(new))[0].id

    one = await add("1", "Handbook", "handbook.pdf", "hr/handbook.pdf")
    two = await add("2", "Readme", "README.md", "a/README.md")
    three = await add("3", "Readme", "README.md", "b/README.md")
    gone = await add("4", "Gone", "gone.md")
    await backend.store.delete_document(gone)
    names = [one, "hr/handbook.pdf", "handbook.pdf", "Handbook", "README.md", "b/README.md", "gone.md", "nothing", gone]
    assert await evaluations.documents_named(names) == {
        one: one,
        "hr/handbook.pdf": one,
        "handbook.pdf": one,
        "Handbook": one,
        "b/README.md": three,
    }
    assert two not in (await evaluations.documents_named(["Readme"])).values()


async def test_a_run_keeps_what_it_was_made_with_and_what_came_out(
    evaluations: EvaluationStore, elsewhere: EvaluationStore
) -> None:
    made = await evaluations.create_set("Set", None)
    run = await new_run(evaluations, made.id)
    assert (run.state, run.settings, run.index_configuration) == ("queued", SETTINGS, {"chunkTargetTokens": 180})
    at_work = await evaluations.advance(run.id, 1, 3)
    assert at_work is not None
    assert (at_work.state, at_work.done, at_work.total) == ("running", 1, 3)
    results = [result(number) for number in range(3)]
    assert await evaluations.add_results(run.id, 0, results[:2])
    assert await evaluations.add_results(run.id, 2, results[2:])
    metrics = summary(results)
    ended = await evaluations.finish(run.id, "completed", metrics)
    assert ended is not None
    assert ended == await elsewhere.get_run(run.id)
    assert ended.state == "completed"
    assert ended.metrics is not None
    assert ended.metrics.to_json() == metrics.to_json()
    assert await elsewhere.list_results(run.id, 2) + await elsewhere.list_results(run.id, 2, 1) == results


async def test_a_run_of_a_process_that_is_gone_is_interrupted(backend: Backend, evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    silent, alive = await new_run(evaluations, made.id), await new_run(evaluations, made.id)
    await evaluations.advance(silent.id, 1, 3)
    backend.clock.forward(40_000)
    assert await evaluations.beat([alive.id, "run_unknown"]) == {alive.id}
    assert {run.id: run.state for run in await evaluations.list_runs(made.id, 10)} == {
        silent.id: "interrupted",
        alive.id: "queued",
    }


async def test_the_baseline_is_a_run_of_the_set_and_goes_with_it(evaluations: EvaluationStore) -> None:
    made, other = await evaluations.create_set("Set", None), await evaluations.create_set("Other", None)
    run, foreign = await new_run(evaluations, made.id), await new_run(evaluations, other.id)
    with pytest.raises(KnowledgeError, match="RUN_NOT_FOUND"):
        await evaluations.update_set(made.id, baseline_run_id=foreign.id)
    assert (await evaluations.update_set(made.id, baseline_run_id=run.id)).baseline_run_id == run.id
    await evaluations.delete_run(run.id)
    left = await evaluations.get_set(made.id)
    assert left is not None
    assert left.baseline_run_id is None
    with pytest.raises(KnowledgeError, match="RUN_NOT_FOUND"):
        await evaluations.delete_run(run.id)


async def test_a_deleted_set_takes_its_cases_and_runs_with_it(evaluations: EvaluationStore) -> None:
    made = await evaluations.create_set("Set", None)
    await evaluations.put_cases(made.id, [Case("a", "one", ("doc_1",))], MAX_CASES)
    run = await new_run(evaluations, made.id)
    await evaluations.add_results(run.id, 0, [result(0)])
    await evaluations.delete_set(made.id)
    assert await evaluations.get_run(run.id) is None
    assert await evaluations.advance(run.id, 1, 1) is None
    assert await evaluations.finish(run.id, "completed") is None
    assert not await evaluations.add_results(run.id, 1, [result(1)])
    assert await evaluations.list_results(run.id, 10) == []
    assert await evaluations.list_cases(made.id, 10) == ([], None)
    for refused in (evaluations.delete_set(made.id), evaluations.delete_case(made.id, "a")):
        with pytest.raises(KnowledgeError, match="EVALUATION_NOT_FOUND"):
            await refused
    with pytest.raises(KnowledgeError, match="EVALUATION_NOT_FOUND"):
        await evaluations.revise_case(made.id, "one", lambda case: case.with_no_answer(True), MAX_CASES)
    with pytest.raises(KnowledgeError, match="EVALUATION_NOT_FOUND"):
        await new_run(evaluations, made.id)


async def test_a_purge_keeps_judgements(backend: Backend, evaluations: EvaluationStore) -> None:
    document, _ = await backend.store.create_document(new_document())
    made = await evaluations.create_set("Set", None)
    await evaluations.put_cases(made.id, [Case("a", "one", (document.id,))], MAX_CASES)
    await backend.store.purge_documents()
    cases, _ = await evaluations.list_cases(made.id, 10)
    assert [case.relevant for case in cases] == [(document.id,)]
