"""The arena: two answers without names, a vote, and what all votes say."""

from tests.handbook import LEAVE, texts, visit


def test_one_recipe_alone_has_nobody_to_meet(base):
    app = visit("runs.py", compare="Arena")
    assert len(app.info) == 1
    assert app.chat_input[0].proto.disabled  # a question would be lost


def test_names_are_told_after_the_vote(base):
    app = visit("runs.py", compare="Arena", k="1")
    app.chat_input[0].set_value(LEAVE).run()
    assert not app.exception
    held = base.conversations.arena.find(1)
    assert {held.left.recipe.search.top_k, held.right.recipe.search.top_k} == {1, 2}
    assert "30 June" in held.left.answer["text"]
    assert "**A**" in [each.value for each in app.markdown]
    app.button(key="arena_vote_left").click().run()
    assert base.conversations.arena.summaries()[0].votes == 1
    [named] = [each.value for each in app.markdown if each.value.startswith("**A**")]
    assert f"top {held.left.recipe.search.top_k}" in named
    assert "Your vote: A is better" in texts(app)
    assert "1 vote on 1 question: 1 to 0, 0 tied, 0 both bad" in texts(app)
