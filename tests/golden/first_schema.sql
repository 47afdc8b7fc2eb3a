BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE baseline (
	base_id INTEGER NOT NULL, 
	question_set VARCHAR NOT NULL, 
	run_id VARCHAR(12) NOT NULL, 
	CONSTRAINT pk_baseline PRIMARY KEY (base_id, question_set), 
	CONSTRAINT fk_baseline_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE, 
	CONSTRAINT fk_baseline_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE build (
	base_id INTEGER NOT NULL, 
	hash VARCHAR(12) NOT NULL, 
	cut_id INTEGER NOT NULL, 
	recipe JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_build PRIMARY KEY (base_id, hash), 
	CONSTRAINT fk_build_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE, 
	CONSTRAINT fk_build_cut_id FOREIGN KEY(cut_id) REFERENCES cut (id) ON DELETE CASCADE
);
CREATE TABLE calibration (
	base_id INTEGER NOT NULL, 
	build_hash VARCHAR(12) NOT NULL, 
	question_set VARCHAR NOT NULL, 
	set_version INTEGER NOT NULL, 
	questions INTEGER NOT NULL, 
	model JSON NOT NULL, 
	quality JSON NOT NULL, 
	threshold FLOAT, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_calibration PRIMARY KEY (base_id, build_hash), 
	CONSTRAINT fk_calibration_base_id_build_hash FOREIGN KEY(base_id, build_hash) REFERENCES build (base_id, hash) ON DELETE CASCADE
);
CREATE TABLE chunk (
	cut_id INTEGER NOT NULL, 
	"key" BIGINT NOT NULL, 
	base_id INTEGER NOT NULL, 
	document_id VARCHAR(64) NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	"order" INTEGER NOT NULL, 
	page INTEGER, 
	heading VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	text_hash BLOB NOT NULL, 
	CONSTRAINT pk_chunk PRIMARY KEY (cut_id, "key"), 
	CONSTRAINT fk_chunk_base_id_document_id FOREIGN KEY(base_id, document_id) REFERENCES document (base_id, id) ON DELETE CASCADE, 
	CONSTRAINT fk_chunk_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE, 
	CONSTRAINT fk_chunk_cut_id FOREIGN KEY(cut_id) REFERENCES cut (id) ON DELETE CASCADE
);
CREATE TABLE conversation (
	id INTEGER NOT NULL, 
	base_id INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_conversation PRIMARY KEY (id), 
	CONSTRAINT fk_conversation_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE cut (
	id INTEGER NOT NULL, 
	base_id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	CONSTRAINT pk_cut PRIMARY KEY (id), 
	CONSTRAINT fk_cut_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE, 
	CONSTRAINT uq_cut_base_id_name UNIQUE (base_id, name)
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
	added DATETIME NOT NULL, 
	CONSTRAINT pk_document PRIMARY KEY (base_id, id), 
	CONSTRAINT fk_document_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE, 
	CONSTRAINT uq_document_base_id_name UNIQUE (base_id, name)
);
CREATE TABLE document_part (
	base_id INTEGER NOT NULL, 
	document_id VARCHAR(64) NOT NULL, 
	position INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_document_part PRIMARY KEY (base_id, document_id, position), 
	CONSTRAINT fk_document_part_base_id_document_id FOREIGN KEY(base_id, document_id) REFERENCES document (base_id, id) ON DELETE CASCADE
);
CREATE TABLE evidence (
	id INTEGER NOT NULL, 
	set_id INTEGER NOT NULL, 
	question_id VARCHAR NOT NULL, 
	document_id VARCHAR(64), 
	document_name VARCHAR NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER, 
	grade INTEGER NOT NULL, 
	quote TEXT NOT NULL, 
	CONSTRAINT pk_evidence PRIMARY KEY (id), 
	CONSTRAINT fk_evidence_set_id_question_id FOREIGN KEY(set_id, question_id) REFERENCES question (set_id, id) ON DELETE CASCADE
);
CREATE TABLE "indexed" (
	base_id INTEGER NOT NULL, 
	build_hash VARCHAR(12) NOT NULL, 
	document_id VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_indexed PRIMARY KEY (base_id, build_hash, document_id), 
	CONSTRAINT fk_indexed_base_id_build_hash FOREIGN KEY(base_id, build_hash) REFERENCES build (base_id, hash) ON DELETE CASCADE, 
	CONSTRAINT fk_indexed_base_id_document_id FOREIGN KEY(base_id, document_id) REFERENCES document (base_id, id) ON DELETE CASCADE
);
CREATE TABLE job (
	id INTEGER NOT NULL, 
	base_id INTEGER NOT NULL, 
	kind VARCHAR NOT NULL, 
	title VARCHAR NOT NULL, 
	payload JSON NOT NULL, 
	status VARCHAR NOT NULL, 
	done INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	message VARCHAR NOT NULL, 
	cancel BOOLEAN NOT NULL, 
	owner VARCHAR, 
	lease FLOAT, 
	created DATETIME NOT NULL, 
	finished DATETIME, 
	CONSTRAINT pk_job PRIMARY KEY (id), 
	CONSTRAINT fk_job_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
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
CREATE TABLE knowledge_base (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	recipe JSON NOT NULL, 
	version INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_knowledge_base PRIMARY KEY (id), 
	CONSTRAINT uq_knowledge_base_name UNIQUE (name)
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
	CONSTRAINT pk_question PRIMARY KEY (set_id, id), 
	CONSTRAINT fk_question_set_id FOREIGN KEY(set_id) REFERENCES question_set (id) ON DELETE CASCADE
);
CREATE TABLE question_set (
	id INTEGER NOT NULL, 
	base_id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	version INTEGER NOT NULL, 
	split_seed INTEGER NOT NULL, 
	split_share FLOAT NOT NULL, 
	changed DATETIME NOT NULL, 
	CONSTRAINT pk_question_set PRIMARY KEY (id), 
	CONSTRAINT fk_question_set_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE, 
	CONSTRAINT uq_question_set_base_id_name UNIQUE (base_id, name)
);
CREATE TABLE recipe_version (
	base_id INTEGER NOT NULL, 
	hash VARCHAR(12) NOT NULL, 
	recipe JSON NOT NULL, 
	saved DATETIME NOT NULL, 
	CONSTRAINT pk_recipe_version PRIMARY KEY (base_id, hash), 
	CONSTRAINT fk_recipe_version_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
);
CREATE TABLE run (
	id VARCHAR(12) NOT NULL, 
	base_id INTEGER NOT NULL, 
	question_set VARCHAR NOT NULL, 
	set_version INTEGER NOT NULL, 
	recipe_hash VARCHAR(12) NOT NULL, 
	recipe JSON NOT NULL, 
	build_hash VARCHAR(12) NOT NULL, 
	base_version INTEGER NOT NULL, 
	documents INTEGER NOT NULL, 
	documents_hash VARCHAR(64) NOT NULL, 
	questions INTEGER NOT NULL, 
	metrics JSON NOT NULL, 
	environment JSON NOT NULL, 
	seconds FLOAT NOT NULL, 
	created DATETIME NOT NULL, 
	note TEXT NOT NULL, 
	tags JSON NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT fk_run_base_id FOREIGN KEY(base_id) REFERENCES knowledge_base (id) ON DELETE CASCADE
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
	CONSTRAINT pk_run_question PRIMARY KEY (run_id, question_id), 
	CONSTRAINT fk_run_question_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE turn (
	id INTEGER NOT NULL, 
	conversation_id INTEGER NOT NULL, 
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
	created DATETIME NOT NULL, 
	CONSTRAINT pk_turn PRIMARY KEY (id), 
	CONSTRAINT fk_turn_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversation (id) ON DELETE CASCADE
);
CREATE TABLE vector (
	embedder VARCHAR NOT NULL, 
	text_hash BLOB NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_vector PRIMARY KEY (embedder, text_hash)
);
CREATE INDEX ix_job_status ON job (status);
CREATE INDEX ix_run_base_id_created ON run (base_id, created);
CREATE INDEX ix_chunk_base_id_document_id_cut_id ON chunk (base_id, document_id, cut_id);
CREATE INDEX ix_chunk_text_hash ON chunk (text_hash);
CREATE INDEX ix_turn_conversation_id ON turn (conversation_id);
CREATE INDEX ix_evidence_document_id ON evidence (document_id);
CREATE INDEX ix_evidence_document_name ON evidence (document_name);
CREATE INDEX ix_evidence_set_id_question_id ON evidence (set_id, question_id);
COMMIT;
