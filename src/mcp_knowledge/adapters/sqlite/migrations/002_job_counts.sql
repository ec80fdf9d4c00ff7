-- Most jobs are completed, and of those only the number is asked for: the figures of the status page read the others alone.
CREATE INDEX jobs_not_completed ON jobs (status) WHERE status <> 'completed';
