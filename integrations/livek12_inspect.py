"""Written by `livek12 plugins inspect`: tasks of livek12, which is what they need."""

from inspect_ai import Task, task

from livek12.tasks.plugins.inspect_tasks import exam_task


@task
def livek12(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12."""
    return exam_task("livek12", data, judge, audit, release)


@task
def livek12_text_only(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_text_only."""
    return exam_task("livek12_text_only", data, judge, audit, release)


@task
def livek12_text_only_zh(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_text_only_zh."""
    return exam_task("livek12_text_only_zh", data, judge, audit, release)


@task
def livek12_text_only_en(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_text_only_en."""
    return exam_task("livek12_text_only_en", data, judge, audit, release)


@task
def livek12_text_image(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_text_image."""
    return exam_task("livek12_text_image", data, judge, audit, release)


@task
def livek12_text_image_zh(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_text_image_zh."""
    return exam_task("livek12_text_image_zh", data, judge, audit, release)


@task
def livek12_text_image_en(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_text_image_en."""
    return exam_task("livek12_text_image_en", data, judge, audit, release)


@task
def livek12_image_only_zh(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_image_only_zh."""
    return exam_task("livek12_image_only_zh", data, judge, audit, release)


@task
def livek12_image_only_en(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task livek12_image_only_en."""
    return exam_task("livek12_image_only_en", data, judge, audit, release)


@task
def kmmmu(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task kmmmu."""
    return exam_task("kmmmu", data, judge, audit, release)


@task
def kmmmu_hard(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task kmmmu_hard."""
    return exam_task("kmmmu_hard", data, judge, audit, release)


@task
def kmmmu_korean_specific(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task kmmmu_korean_specific."""
    return exam_task("kmmmu_korean_specific", data, judge, audit, release)


@task
def cfe_text(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task cfe_text."""
    return exam_task("cfe_text", data, judge, audit, release)


@task
def cfe_multimodal(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task cfe_multimodal."""
    return exam_task("cfe_multimodal", data, judge, audit, release)


@task
def cfe(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task cfe."""
    return exam_task("cfe", data, judge, audit, release)


@task
def mdk12(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task mdk12."""
    return exam_task("mdk12", data, judge, audit, release)


@task
def mdk12_mini(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
    """The task mdk12_mini."""
    return exam_task("mdk12_mini", data, judge, audit, release)
