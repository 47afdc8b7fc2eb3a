"""Attributes of spans are called what the packages of the conventions call them."""

from openinference.semconv import trace as openinference
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes import error_attributes, http_attributes

from rag.workspace.tracing import attributes
from rag.workspace.tracing.attributes import KINDS, STEPS


def test_names_are_those_of_the_conventions():
    theirs = {
        value
        for kind in vars(openinference).values()
        if isinstance(kind, type) and kind.__name__.endswith("Attributes")
        for name, value in vars(kind).items()
        if name.isupper()
    }
    theirs |= {value for name, value in vars(gen_ai).items() if name.startswith("GEN_AI_")}
    ours = {
        value
        for name, value in vars(attributes).items()
        if name.isupper() and isinstance(value, str) and not value.startswith("touchstone.")
    }
    theirs |= {error_attributes.ERROR_TYPE, http_attributes.HTTP_ROUTE}
    theirs |= {http_attributes.HTTP_REQUEST_METHOD, http_attributes.HTTP_RESPONSE_STATUS_CODE}
    assert ours - theirs == set()
    kinds = {each.value for each in openinference.OpenInferenceSpanKindValues}
    assert {*KINDS.values(), *STEPS.values()} <= kinds
    providers = {each.value for each in openinference.OpenInferenceLLMProviderValues}
    assert set(attributes.LLM_PROVIDERS.values()) <= providers
    known = {each.value for each in gen_ai.GenAiProviderNameValues}
    assert set(attributes.AI_PROVIDERS.values()) <= known
