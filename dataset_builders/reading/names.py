"""Names of keys in sources and their names here: one table for all builders.

Contract: keys are compared in lower case with underscores. Of several keys with one meaning, the first listed takes
precedence.
"""

from __future__ import annotations

import re

from livek12.dataset_builders.reading.text import without_invisible

NAMES: dict[str, str] = {
    "id": "qid question_id problem_id problemid item_id uid que_id sample_id",
    "question": "problem problem_text prompt question_text question_body question_content stem query"
    " 题目 题干 问题 문제",
    "passage": "context paragraph background material reading_passage article passage_text shared_stem 材料 지문",
    "options": "choices option answer_option_list option_list answer_options answer_choices candidates"
    " 选项 선택지 보기",
    "answer": "answer_value answer_key correct_answer correct_option gold gold_answer ground_truth reference_answer"
    " final_answer answer_number answer_text answer_latex label 答案 标准答案 정답",
    "answer_index": "answer_idx correct_index correct_answer_index gold_index",
    "solution": "explanation rationale analysis answer_analysis worked_solution solution_text 解答 解析 해설 풀이",
    "marking": "marking_scheme rubric rubrics grading_criteria scoring_criteria 评分标准",
    "images": "image image_link image_links image_path image_paths image_url image_urls image_file image_files"
    " image_list image_question question_image question_images picture pictures figure figures img imgs diagram"
    " diagrams 图像 图片",
    "solution_images": "solution_image image_solution analysis_images explanation_images solution_figures",
    "points": "score point_value point mark marks max_score full_mark 分值 分数 배점",
    "part_units": "unit units 单位 단위",
    "question_type": "qtype type answer_type problem_type 题型 유형",
    "subject": "discipline 学科 科目 과목",
    "topic": "field subfield domain",
    "knowledge_points": "knowledge_point knowledge_point_routes knowledge concepts 考点 知识点",
    "difficulty": "difficulty_level level 难度 난이도",
    "language": "lang 语言",
    "exam": "exam_name source_exam test_name paper paper_name competition competition_source_list 考试 시험",
    "year": "exam_year 年份 연도",
    "number": "question_number problem_number 题号",
    "subsets": "subset",
    "licence": "license",
    "is_korean_specific": "korean_specific korea_specific is_korea_specific",
    "hard": "is_hard hard_subset",
    "macro_subject": "macro_category macro",
    "task": "task_type cognitive_task",
    "visual_modality": "modality image_type visual_type image_category",
    "visual_subcategory": "image_subcategory image_sub_category visual_sub_category sub_category subcategory",
    "has_text_in_image": "text_in_image in_image_text has_in_image_text image_has_text contains_text has_text",
}
"""Other names of a question's fields, in lower case with underscores, in order of precedence."""
OURS = {name: ours for ours, names in NAMES.items() for name in names.split()}
RANK = {name: place for names in NAMES.values() for place, name in enumerate(names.split(), start=1)}


def spelled(key: str) -> str:
    """A key in lower case with underscores."""
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", without_invisible(key).strip())).lower()
