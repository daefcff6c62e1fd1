-- What is settled stays so, whoever writes: the last line behind the transition table of tool calls. Only a recorded decision
-- leaves `interrupted`.
CREATE FUNCTION tool_call_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = NEW.status THEN RETURN NEW; END IF;
  IF OLD.status IN ('completed', 'error', 'timed_out', 'skipped', 'denied', 'cancelled')
     OR (OLD.status = 'interrupted' AND NEW.status NOT IN ('pending', 'completed', 'error')) THEN
    RAISE EXCEPTION 'tool call % is % and does not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;
ALTER FUNCTION tool_call_guard() OWNER TO nightshift_owner;
CREATE TRIGGER tool_call_guard BEFORE UPDATE OF status ON tool_call FOR EACH ROW EXECUTE FUNCTION tool_call_guard();
