import type { WorkspaceChanges } from '../../workspaces/workspace.js';
import type { UpdateWorkspaceInput } from './workspace.input.js';

const nullable = new Set(['deltaRetentionMs', 'jobRetentionMs']);

/** The members that were given. Null means "the server's default" where there is one, else it is as if absent. */
export function toWorkspaceChanges(input: UpdateWorkspaceInput): WorkspaceChanges {
  const given = Object.entries(input).filter(
    ([name, value]) => value !== undefined && (value !== null || nullable.has(name)),
  );
  return Object.fromEntries(given); // the service parses every member again
}
