-- Counts and leases that api processes share. They hold user and workspace ids and numbers, no content, and belong to no workspace.
-- Unlogged: after a crash of the server they start from zero.

-- The layout is that of rate-limiter-flexible: key, points used in the window, end of the window in ms.
CREATE UNLOGGED TABLE rate_limit (
  key VARCHAR(255) PRIMARY KEY,
  points INTEGER NOT NULL DEFAULT 0,
  expire BIGINT
);
CREATE INDEX rate_limit_expire_idx ON rate_limit (expire);

-- One row per user: how many connections each api process has open for them, and until when that counts without being renewed.
CREATE UNLOGGED TABLE user_sockets (
  user_id UUID PRIMARY KEY,
  processes JSONB NOT NULL,
  renewed_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX user_sockets_renewed_at_idx ON user_sockets (renewed_at);

ALTER TABLE rate_limit OWNER TO nightshift_owner;
ALTER TABLE user_sockets OWNER TO nightshift_owner;
GRANT SELECT, INSERT, UPDATE, DELETE ON rate_limit, user_sockets TO nightshift_api;
