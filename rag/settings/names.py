"""The names of variables that several read, or that only say where something is."""

URL_VARIABLES = (
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "COHERE_BASE_URL",
    "GEMINI_BASE_URL",
    "VERTEX_BASE_URL",
    "VERTEX_RANKING_URL",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "JINA_BASE_URL",
    "VOYAGE_BASE_URL",
    "TOUCHSTONE_VLLM_URL",
    "TOUCHSTONE_LM_STUDIO_URL",
    "TOUCHSTONE_LLAMA_CPP_URL",
    "TOUCHSTONE_DOCKER_MODELS_URL",
    "TOUCHSTONE_TEI_URL",
    "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL",
    "TOUCHSTONE_RERANK_URL",
)
PROVIDER_VARIABLES = (
    *URL_VARIABLES,
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "OPENAI_API_VERSION",
    "OLLAMA_HOST",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "DEEPSEEK_API_KEY",
    "COHERE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "AWS_REGION",
    "JINA_API_KEY",
    "VOYAGE_API_KEY",
    "TOUCHSTONE_VLLM_API_KEY",
    "TOUCHSTONE_VLLM_MODEL",
    "TOUCHSTONE_LM_STUDIO_API_KEY",
    "TOUCHSTONE_LM_STUDIO_MODEL",
    "TOUCHSTONE_LLAMA_CPP_API_KEY",
    "TOUCHSTONE_LLAMA_CPP_MODEL",
    "TOUCHSTONE_DOCKER_MODELS_MODEL",
    "TOUCHSTONE_TEI_API_KEY",
    "TOUCHSTONE_OPENAI_COMPATIBLE_API_KEY",
    "TOUCHSTONE_OPENAI_COMPATIBLE_MODEL",
    "TOUCHSTONE_RERANK_API_KEY",
)
"""Every variable that a provider may ask for with ``Settings.variable``."""

GONE = {"TOUCHSTONE_CLUSTER": "Jobs read and embed here; add workers on the same PostgreSQL."}
"""Variables of earlier versions, and what to do instead."""

BOUND_VARIABLES = ("TOUCHSTONE_PROVIDER_RATE", "TOUCHSTONE_PROVIDER_AT_ONCE")
"""Bounds of providers by name; ``Settings.variable`` has them as ``NAME[provider]``."""

TOOL_PREFIX = "TOUCHSTONE_TOOL_"
"""What the variables begin with that headers of HTTP tools may name: no others are sent to them."""

TRACE_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where traces go; either turns them on."""
