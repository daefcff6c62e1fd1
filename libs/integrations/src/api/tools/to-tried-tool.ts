import type { TriedTool } from '../../http/http-tool-trial.service.js';
import { testInputInvalid } from './tools.errors.js';
import type { TestToolInput } from './workspace-tool.model.js';

/** Which tool is meant: a stored one or a draft. Throws `bad_request` for neither and for both. */
export function toTriedTool({ id, definition }: Pick<TestToolInput, 'id' | 'definition'>): TriedTool {
  if (id == null && definition == null) throw testInputInvalid('id', 'Give the id of a tool, or a definition');
  if (id != null && definition != null) throw testInputInvalid('definition', 'Give an id or a definition, not both');
  return id == null ? { definition } : { id };
}
