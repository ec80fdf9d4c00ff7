-- Half-precision copies in the graph: half its size, the same recall. Vectors are normalised, so that the inner product
-- is the cosine. `adapters/postgres/vector_graph.py` drops and makes the graph again around bulk loads.
CREATE INDEX chunk_vectors_document ON chunk_vectors (document_no);
CREATE INDEX chunk_vectors_graph ON chunk_vectors
    USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops) WITH (m = 24, ef_construction = 100);
