-- The tables of version 0.1.0 on PostgreSQL, as it made them.
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
INSERT INTO alembic_version VALUES ('0046');
CREATE TABLE knowledge_base (
    id SERIAL NOT NULL,
    name VARCHAR NOT NULL,
    recipe JSON NOT NULL,
    version INTEGER NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_knowledge_base PRIMARY KEY (id),
    CONSTRAINT uq_knowledge_base_name UNIQUE (name)
);
CREATE TABLE text_vector (
    embedder VARCHAR NOT NULL,
    text_hash BYTEA NOT NULL,
    data BYTEA NOT NULL,
    CONSTRAINT pk_text_vector PRIMARY KEY (embedder, text_hash)
);
CREATE TABLE file_part (
    sha256 VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    data BYTEA NOT NULL,
    CONSTRAINT pk_file_part PRIMARY KEY (sha256, position)
);
CREATE TABLE vector_build (
    id SERIAL NOT NULL,
    name VARCHAR NOT NULL,
    dimension INTEGER NOT NULL,
    CONSTRAINT pk_vector_build PRIMARY KEY (id),
    CONSTRAINT uq_vector_build_name UNIQUE (name)
);
CREATE TABLE lease (
    subject VARCHAR NOT NULL,
    holder VARCHAR NOT NULL,
    until FLOAT NOT NULL,
    CONSTRAINT pk_lease PRIMARY KEY (subject, holder)
);
CREATE TABLE api_token (
    id VARCHAR(12) NOT NULL,
    name VARCHAR NOT NULL,
    digest VARCHAR(64) NOT NULL,
    scopes JSON NOT NULL,
    owner VARCHAR DEFAULT '' NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    expires TIMESTAMP WITH TIME ZONE,
    used TIMESTAMP WITH TIME ZONE,
    revoked TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_api_token PRIMARY KEY (id),
    CONSTRAINT uq_api_token_digest UNIQUE (digest)
);
CREATE TABLE person (
    id VARCHAR(12) NOT NULL,
    email VARCHAR NOT NULL,
    name VARCHAR DEFAULT '' NOT NULL,
    subject VARCHAR(64),
    administrator BOOLEAN DEFAULT false NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    seen TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_person PRIMARY KEY (id),
    CONSTRAINT uq_person_email UNIQUE (email),
    CONSTRAINT uq_person_subject UNIQUE (subject)
);
CREATE TABLE deleted_account (
    subject VARCHAR(64) NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_deleted_account PRIMARY KEY (subject)
);
CREATE TABLE audit_entry (
    id SERIAL NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    person_id VARCHAR(12) NOT NULL,
    via VARCHAR NOT NULL,
    key_id VARCHAR(12) DEFAULT '' NOT NULL,
    base_id INTEGER,
    base VARCHAR DEFAULT '' NOT NULL,
    kind VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    detail VARCHAR DEFAULT '' NOT NULL,
    CONSTRAINT pk_audit_entry PRIMARY KEY (id)
);
CREATE INDEX ix_audit_entry_at ON audit_entry (at);
CREATE INDEX ix_audit_entry_base_id_at ON audit_entry (base_id, at);
CREATE TABLE tool (
    name VARCHAR NOT NULL,
    definition JSON NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_tool PRIMARY KEY (name)
);
CREATE TABLE recipe_version (
    base_id INTEGER NOT NULL,
    hash VARCHAR(12) NOT NULL,
    recipe JSON NOT NULL,
    saved TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_recipe_version PRIMARY KEY (base_id, hash),
    CONSTRAINT fk_recipe_version_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE document (
    base_id INTEGER NOT NULL,
    id VARCHAR(64) NOT NULL,
    name VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    media_type VARCHAR NOT NULL,
    pages JSON NOT NULL,
    headings JSON NOT NULL,
    metadata JSON NOT NULL,
    characters INTEGER NOT NULL,
    added TIMESTAMP WITH TIME ZONE NOT NULL,
    tags JSON DEFAULT '[]' NOT NULL,
    tables JSON DEFAULT '[]' NOT NULL,
    reader_version INTEGER DEFAULT '0' NOT NULL,
    recut INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_document PRIMARY KEY (base_id, id),
    CONSTRAINT uq_document_base_id_name UNIQUE (base_id, name),
    CONSTRAINT fk_document_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE cut (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    CONSTRAINT pk_cut PRIMARY KEY (id),
    CONSTRAINT uq_cut_base_id_name UNIQUE (base_id, name),
    CONSTRAINT fk_cut_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE question_set (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    split_seed INTEGER NOT NULL,
    split_share FLOAT NOT NULL,
    changed TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_question_set PRIMARY KEY (id),
    CONSTRAINT uq_question_set_base_id_name UNIQUE (base_id, name),
    CONSTRAINT fk_question_set_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE run (
    id VARCHAR(12) NOT NULL,
    base_id INTEGER NOT NULL,
    question_set VARCHAR NOT NULL,
    set_version INTEGER NOT NULL,
    recipe_hash VARCHAR(12) NOT NULL,
    recipe JSON NOT NULL,
    build_hash VARCHAR(12) NOT NULL,
    system JSON,
    base_version INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    documents_hash VARCHAR(64) NOT NULL,
    questions INTEGER NOT NULL,
    metrics JSON NOT NULL,
    environment JSON NOT NULL,
    seconds FLOAT NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    note TEXT NOT NULL,
    tags JSON NOT NULL,
    CONSTRAINT pk_run PRIMARY KEY (id),
    CONSTRAINT fk_run_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_run_base_id_created ON run (base_id, created);
CREATE TABLE job (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    payload JSON NOT NULL,
    status VARCHAR NOT NULL,
    done INTEGER NOT NULL,
    total INTEGER NOT NULL,
    message VARCHAR NOT NULL,
    seconds_left FLOAT,
    result JSON,
    cancel BOOLEAN NOT NULL,
    owner VARCHAR,
    lease FLOAT,
    deaths INTEGER DEFAULT '0' NOT NULL,
    gave_way TIMESTAMP WITH TIME ZONE,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    finished TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_job PRIMARY KEY (id),
    CONSTRAINT fk_job_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_job_status ON job (status);
CREATE TABLE conversation (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    visitor VARCHAR DEFAULT '' NOT NULL,
    name VARCHAR DEFAULT '' NOT NULL,
    settings JSON,
    head INTEGER,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_conversation PRIMARY KEY (id),
    CONSTRAINT fk_conversation_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_conversation_base_id_visitor ON conversation (base_id, visitor);
CREATE TABLE bout (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    visitor VARCHAR NOT NULL,
    question TEXT NOT NULL,
    "left" JSON NOT NULL,
    "right" JSON NOT NULL,
    vote VARCHAR NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_bout PRIMARY KEY (id),
    CONSTRAINT fk_bout_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_bout_base_id_visitor ON bout (base_id, visitor);
CREATE TABLE member (
    base_id INTEGER NOT NULL,
    person_id VARCHAR(12) NOT NULL,
    role VARCHAR NOT NULL,
    CONSTRAINT pk_member PRIMARY KEY (base_id, person_id),
    CONSTRAINT fk_member_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE,
    CONSTRAINT fk_member_person_id FOREIGN KEY(person_id) REFERENCES person (id) ON DELETE CASCADE
);
CREATE INDEX ix_member_person_id ON member (person_id);
CREATE TABLE share_link (
    id VARCHAR(12) NOT NULL,
    base_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    digest VARCHAR(64) NOT NULL,
    maker VARCHAR DEFAULT '' NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    expires TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked TIMESTAMP WITH TIME ZONE,
    tour_id INTEGER,
    CONSTRAINT pk_share_link PRIMARY KEY (id),
    CONSTRAINT fk_share_link_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE,
    CONSTRAINT uq_share_link_digest UNIQUE (digest)
);
CREATE TABLE api_reply (
    token_id VARCHAR(12) NOT NULL,
    key VARCHAR(255) NOT NULL,
    asked VARCHAR(64) NOT NULL,
    status INTEGER,
    body JSON,
    location VARCHAR DEFAULT '' NOT NULL,
    created FLOAT NOT NULL,
    CONSTRAINT pk_api_reply PRIMARY KEY (token_id, key),
    CONSTRAINT fk_api_reply_token_id FOREIGN KEY(token_id) REFERENCES api_token (id) ON DELETE CASCADE
);
CREATE TABLE tour (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    title VARCHAR NOT NULL,
    stops JSON NOT NULL,
    changed TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_tour PRIMARY KEY (id),
    CONSTRAINT fk_tour_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE passage_edit (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    document_id VARCHAR(64) NOT NULL,
    document_name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    quote TEXT NOT NULL,
    words TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_passage_edit PRIMARY KEY (id),
    CONSTRAINT fk_passage_edit_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_passage_edit_base_id_document_id ON passage_edit (base_id, document_id);
CREATE TABLE prompt_text (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    text TEXT NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_prompt_text PRIMARY KEY (id),
    CONSTRAINT fk_prompt_text_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE learned_fusion (
    base_id INTEGER NOT NULL,
    hash VARCHAR(12) NOT NULL,
    version INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    question_set VARCHAR NOT NULL,
    set_version INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    model JSON NOT NULL,
    learned_with JSON NOT NULL,
    passports JSON NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_learned_fusion PRIMARY KEY (base_id, hash),
    CONSTRAINT fk_learned_fusion_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE settlement (
    base_id INTEGER NOT NULL,
    finding VARCHAR(16) NOT NULL,
    decision VARCHAR NOT NULL,
    document VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    settled TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_settlement PRIMARY KEY (base_id, finding),
    CONSTRAINT fk_settlement_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE system (
    base_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    hash VARCHAR(64) NOT NULL,
    definition JSON NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_system PRIMARY KEY (base_id, name, version),
    CONSTRAINT fk_system_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE run_answer (
    run_id VARCHAR(12) NOT NULL,
    question_id VARCHAR NOT NULL,
    base_id INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    text TEXT NOT NULL,
    note TEXT NOT NULL,
    sentences JSON NOT NULL,
    metrics JSON NOT NULL,
    searched FLOAT NOT NULL,
    first_token FLOAT,
    seconds FLOAT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    examples INTEGER DEFAULT '0' NOT NULL,
    prompt_version VARCHAR DEFAULT '' NOT NULL,
    cost FLOAT,
    currency VARCHAR(8) DEFAULT '' NOT NULL,
    judge_tokens INTEGER DEFAULT '0' NOT NULL,
    judge_cost FLOAT,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_run_answer PRIMARY KEY (run_id, question_id),
    CONSTRAINT fk_run_answer_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_run_answer_base_id ON run_answer (base_id);
CREATE TABLE received_span (
    base_id INTEGER NOT NULL,
    trace VARCHAR(32) NOT NULL,
    span VARCHAR(16) NOT NULL,
    system VARCHAR NOT NULL,
    started BIGINT NOT NULL,
    received TIMESTAMP WITH TIME ZONE NOT NULL,
    question TEXT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    items JSON,
    results JSON NOT NULL,
    CONSTRAINT pk_received_span PRIMARY KEY (base_id, trace, span),
    CONSTRAINT fk_received_span_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_received_span_received ON received_span (base_id, received);
CREATE INDEX ix_received_span_system ON received_span (base_id, system, started);
CREATE TABLE recipe_name (
    base_id INTEGER NOT NULL,
    hash VARCHAR(12) NOT NULL,
    name VARCHAR NOT NULL,
    CONSTRAINT pk_recipe_name PRIMARY KEY (base_id, hash),
    CONSTRAINT fk_recipe_name_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE look (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    question_set VARCHAR NOT NULL,
    family VARCHAR NOT NULL,
    look VARCHAR(64) NOT NULL,
    kind VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    alternatives INTEGER NOT NULL,
    recipes JSON NOT NULL,
    split_seed INTEGER,
    split_share FLOAT,
    first TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_look PRIMARY KEY (id),
    CONSTRAINT uq_look_base_id_question_set_family_look UNIQUE (base_id, question_set, family, look),
    CONSTRAINT fk_look_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE document_part (
    base_id INTEGER NOT NULL,
    document_id VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT pk_document_part PRIMARY KEY (base_id, document_id, position),
    CONSTRAINT fk_document_part_base_id_document_id FOREIGN KEY(base_id, document_id) REFERENCES document (base_id, id) ON DELETE CASCADE
);
CREATE TABLE chunk (
    cut_id INTEGER NOT NULL,
    key BIGINT NOT NULL,
    base_id INTEGER NOT NULL,
    document_id VARCHAR(64) NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    "order" INTEGER NOT NULL,
    page INTEGER,
    heading VARCHAR NOT NULL,
    text TEXT NOT NULL,
    context TEXT DEFAULT '' NOT NULL,
    text_hash BYTEA NOT NULL,
    CONSTRAINT pk_chunk PRIMARY KEY (cut_id, key),
    CONSTRAINT fk_chunk_base_id_document_id FOREIGN KEY(base_id, document_id) REFERENCES document (base_id, id) ON DELETE CASCADE,
    CONSTRAINT fk_chunk_cut_id FOREIGN KEY(cut_id) REFERENCES cut (id) ON DELETE CASCADE,
    CONSTRAINT fk_chunk_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE INDEX ix_chunk_base_id_document_id_cut_id ON chunk (base_id, document_id, cut_id);
CREATE INDEX ix_chunk_text_hash ON chunk (text_hash);
CREATE TABLE build (
    base_id INTEGER NOT NULL,
    hash VARCHAR(12) NOT NULL,
    cut_id INTEGER NOT NULL,
    recipe JSON NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_build PRIMARY KEY (base_id, hash),
    CONSTRAINT fk_build_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE,
    CONSTRAINT fk_build_cut_id FOREIGN KEY(cut_id) REFERENCES cut (id) ON DELETE CASCADE
);
CREATE TABLE question_set_version (
    set_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    labels INTEGER NOT NULL,
    content JSON NOT NULL,
    replaced TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_question_set_version PRIMARY KEY (set_id, version),
    CONSTRAINT fk_question_set_version_set_id FOREIGN KEY(set_id) REFERENCES question_set (id) ON DELETE CASCADE
);
CREATE TABLE question (
    set_id INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    answerable BOOLEAN NOT NULL,
    tags JSON NOT NULL,
    state VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    leak FLOAT,
    "group" VARCHAR NOT NULL,
    answer TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_question PRIMARY KEY (set_id, id),
    CONSTRAINT fk_question_set_id FOREIGN KEY(set_id) REFERENCES question_set (id) ON DELETE CASCADE
);
CREATE TABLE baseline (
    base_id INTEGER NOT NULL,
    question_set VARCHAR NOT NULL,
    run_id VARCHAR(12) NOT NULL,
    CONSTRAINT pk_baseline PRIMARY KEY (base_id, question_set),
    CONSTRAINT fk_baseline_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE,
    CONSTRAINT fk_baseline_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE run_question (
    run_id VARCHAR(12) NOT NULL,
    question_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    tags JSON NOT NULL,
    answerable BOOLEAN NOT NULL,
    metrics JSON NOT NULL,
    ranking JSON NOT NULL,
    first_relevant INTEGER,
    found INTEGER NOT NULL,
    relevant INTEGER NOT NULL,
    cut_rank INTEGER,
    CONSTRAINT pk_run_question PRIMARY KEY (run_id, question_id),
    CONSTRAINT fk_run_question_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE foreign_text (
    run_id VARCHAR(12) NOT NULL,
    id VARCHAR(24) NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT pk_foreign_text PRIMARY KEY (run_id, id),
    CONSTRAINT fk_foreign_text_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE job_item (
    job_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    payload JSON NOT NULL,
    status VARCHAR NOT NULL,
    reason TEXT NOT NULL,
    hint TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    CONSTRAINT pk_job_item PRIMARY KEY (job_id, position),
    CONSTRAINT fk_job_item_job_id FOREIGN KEY(job_id) REFERENCES job (id) ON DELETE CASCADE
);
CREATE TABLE turn (
    id SERIAL NOT NULL,
    conversation_id INTEGER NOT NULL,
    parent INTEGER,
    question TEXT NOT NULL,
    recipe JSON NOT NULL,
    answer TEXT NOT NULL,
    status VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    citations JSON NOT NULL,
    note TEXT NOT NULL,
    passages INTEGER NOT NULL,
    seconds FLOAT NOT NULL,
    thumb INTEGER NOT NULL,
    reason VARCHAR DEFAULT '' NOT NULL,
    correction TEXT DEFAULT '' NOT NULL,
    review VARCHAR DEFAULT '' NOT NULL,
    clicks INTEGER DEFAULT '0' NOT NULL,
    also JSON DEFAULT '[]' NOT NULL,
    rewritten TEXT DEFAULT '' NOT NULL,
    metrics JSON DEFAULT '{}' NOT NULL,
    examples JSON DEFAULT '[]' NOT NULL,
    sentences JSON DEFAULT '[]' NOT NULL,
    details JSON DEFAULT '{}' NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_turn PRIMARY KEY (id),
    CONSTRAINT fk_turn_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversation (id) ON DELETE CASCADE
);
CREATE INDEX ix_turn_conversation_id ON turn (conversation_id);
CREATE TABLE decision (
    id SERIAL NOT NULL,
    base_id INTEGER NOT NULL,
    run_id VARCHAR(12) NOT NULL,
    other_id VARCHAR(12) NOT NULL,
    metric VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_decision PRIMARY KEY (id),
    CONSTRAINT uq_decision_run_id_other_id_metric UNIQUE (run_id, other_id, metric),
    CONSTRAINT fk_decision_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE,
    CONSTRAINT fk_decision_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE,
    CONSTRAINT fk_decision_other_id FOREIGN KEY(other_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE judgement (
    id SERIAL NOT NULL,
    run_id VARCHAR(12) NOT NULL,
    question_id VARCHAR NOT NULL,
    item VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    rubric VARCHAR NOT NULL,
    repetition INTEGER NOT NULL,
    grade INTEGER NOT NULL,
    reason TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    probability FLOAT NOT NULL,
    cost FLOAT,
    currency VARCHAR(8) DEFAULT '' NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_judgement PRIMARY KEY (id),
    CONSTRAINT uq_judgement_run_id_question_id_item_judge_rubric_repetition UNIQUE (run_id, question_id, item, judge, rubric, repetition),
    CONSTRAINT fk_judgement_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE preference (
    id SERIAL NOT NULL,
    run_id VARCHAR(12) NOT NULL,
    other_id VARCHAR(12) NOT NULL,
    question_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    rubric VARCHAR NOT NULL,
    vote FLOAT NOT NULL,
    tokens INTEGER NOT NULL,
    cost FLOAT,
    currency VARCHAR(8) DEFAULT '' NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_preference PRIMARY KEY (id),
    CONSTRAINT uq_preference_run_id_other_id_question_id_judge_rubric UNIQUE (run_id, other_id, question_id, judge, rubric),
    CONSTRAINT fk_preference_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE,
    CONSTRAINT fk_preference_other_id FOREIGN KEY(other_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE INDEX ix_preference_other_id ON preference (other_id);
CREATE TABLE watch_look (
    id VARCHAR(12) NOT NULL,
    set_id INTEGER NOT NULL,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    is_reference BOOLEAN NOT NULL,
    report JSON NOT NULL,
    state JSON NOT NULL,
    CONSTRAINT pk_watch_look PRIMARY KEY (id),
    CONSTRAINT fk_watch_look_set_id FOREIGN KEY(set_id) REFERENCES question_set (id) ON DELETE CASCADE
);
CREATE INDEX ix_watch_look_set_id_created ON watch_look (set_id, created);
CREATE TABLE indexed (
    base_id INTEGER NOT NULL,
    build_hash VARCHAR(12) NOT NULL,
    document_id VARCHAR(64) NOT NULL,
    waits BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_indexed PRIMARY KEY (base_id, build_hash, document_id),
    CONSTRAINT fk_indexed_base_id_build_hash FOREIGN KEY(base_id, build_hash) REFERENCES build (base_id, hash) ON DELETE CASCADE,
    CONSTRAINT fk_indexed_base_id_document_id FOREIGN KEY(base_id, document_id) REFERENCES document (base_id, id) ON DELETE CASCADE
);
CREATE TABLE evidence (
    id SERIAL NOT NULL,
    set_id INTEGER NOT NULL,
    question_id VARCHAR NOT NULL,
    document_id VARCHAR(64),
    document_name VARCHAR NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER,
    grade INTEGER NOT NULL,
    quote TEXT NOT NULL,
    page INTEGER,
    origin VARCHAR DEFAULT '' NOT NULL,
    nugget VARCHAR DEFAULT '' NOT NULL,
    CONSTRAINT pk_evidence PRIMARY KEY (id),
    CONSTRAINT fk_evidence_set_id_question_id FOREIGN KEY(set_id, question_id) REFERENCES question (set_id, id) ON DELETE CASCADE
);
CREATE INDEX ix_evidence_document_id ON evidence (document_id);
CREATE INDEX ix_evidence_document_name ON evidence (document_name);
CREATE INDEX ix_evidence_set_id_question_id ON evidence (set_id, question_id);
CREATE TABLE calibration (
    base_id INTEGER NOT NULL,
    build_hash VARCHAR(12) NOT NULL,
    question_set VARCHAR NOT NULL,
    set_version INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    model JSON NOT NULL,
    quality JSON NOT NULL,
    threshold FLOAT,
    created TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_calibration PRIMARY KEY (base_id, build_hash),
    CONSTRAINT fk_calibration_base_id_build_hash FOREIGN KEY(base_id, build_hash) REFERENCES build (base_id, hash) ON DELETE CASCADE
);
CREATE TABLE interaction (
    turn_id INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    outcome VARCHAR NOT NULL,
    follow_up BOOLEAN NOT NULL,
    sources JSON NOT NULL,
    corrected BOOLEAN NOT NULL,
    CONSTRAINT pk_interaction PRIMARY KEY (turn_id),
    CONSTRAINT fk_interaction_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id) ON DELETE CASCADE
);
CREATE TABLE decision_hit (
    decision_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    question_id VARCHAR NOT NULL,
    item VARCHAR NOT NULL,
    document_id VARCHAR(64) NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER,
    rank INTEGER,
    other_rank INTEGER,
    weight FLOAT NOT NULL,
    chance FLOAT NOT NULL,
    size FLOAT NOT NULL,
    probability FLOAT NOT NULL,
    labelled BOOLEAN NOT NULL,
    CONSTRAINT pk_decision_hit PRIMARY KEY (decision_id, position),
    CONSTRAINT fk_decision_hit_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id) ON DELETE CASCADE
);
CREATE TABLE interaction_vector (
    turn_id INTEGER NOT NULL,
    embedder VARCHAR NOT NULL,
    data BYTEA NOT NULL,
    CONSTRAINT pk_interaction_vector PRIMARY KEY (turn_id, embedder),
    CONSTRAINT fk_interaction_vector_turn_id FOREIGN KEY(turn_id) REFERENCES interaction (turn_id) ON DELETE CASCADE
);
