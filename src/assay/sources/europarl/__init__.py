"""European Parliament: written questions and answers of the Open Data Portal, from fetched files to records.

What is fetched lies in one folder, as it was received:

* `questions/<year>-<n>.json`: details of questions, the interface's JSON-LD (`{"data": [...], "@context": ...}`)
* `documents/<id>.json`: details of answers that a question names by their id alone
* `files/<id>_<lang>.docx`, `.xhtml`, `.pdf`: texts as distributed
* `fetched.jsonl`: one line a request: `url`, `file`, `sha256`, `status`, `bytes`

`records.records(folder, first=..., last=...)` reads such a folder; `sample.from_sample(folder)` reads the portal's open
data sample of 2022. Both give `assay.building.records.Records`. Single files: `docx.docx_text`, `xhtml.xhtml_text`,
`pdf.pdf_text`; a header apart from its body: `layout.question_parts`, `layout.answer_parts`; a detail as facts:
`metadata.question_facts`, `metadata.answer_facts`.
"""
