import { toSlug } from '#platform';

/** A workspace that a trigger file may name. */
export interface FileWorkspace {
  readonly id: string;
  readonly name: string;
}

/** A Syntrix connection that a trigger file may name. */
export interface FileConnection extends FileWorkspace {
  readonly workspaceId: string;
}

/** What the databases of trigger files may name. */
export interface FileTargets {
  readonly workspaces: readonly FileWorkspace[];
  readonly connections: readonly FileConnection[];
  /** TRIGGERS_WORKSPACE: the id or name of the workspace of all other databases. */
  readonly fallback: string | undefined;
}

/**
 * Returns a function that finds the workspace of a database, or explains why there is none. Ids decide before names. Any user can choose the
 * name of a connection, so it decides only where the operator has set no TRIGGERS_WORKSPACE.
 */
export function placeTriggers({
  workspaces,
  connections,
  fallback,
}: FileTargets): (database: string) => FileWorkspace | string {
  const byId = new Map(workspaces.map((workspace) => [workspace.id, workspace]));
  const named = (ref: string): FileWorkspace | string | undefined => {
    const connection = connections.find(({ id }) => id === ref);
    const found = byId.get(ref) ?? byId.get(connection?.workspaceId ?? '');
    if (found !== undefined) return found;
    const same = workspaces.filter(({ name }) => name === ref || toSlug(name) === ref);
    return same.length > 1 ? `${JSON.stringify(ref)} names ${same.length} workspaces: use an id` : same[0];
  };
  const connected = (ref: string): FileWorkspace | string | undefined => {
    const same = connections.filter(({ name }) => name === ref);
    if (same.length < 2) return byId.get(same[0]?.workspaceId ?? '');
    return `${JSON.stringify(ref)} names connections of ${same.length} workspaces: use the id of one, or set TRIGGERS_WORKSPACE`;
  };
  const only = workspaces.length === 1 ? workspaces[0] : undefined;
  return (database) =>
    named(database) ??
    (fallback === undefined ? (connected(database) ?? only) : named(fallback)) ??
    unknown(database, fallback);
}

function unknown(database: string, fallback: string | undefined): string {
  const problem = `database ${JSON.stringify(database)} names no workspace and no connection`;
  return fallback === undefined
    ? `${problem}: set TRIGGERS_WORKSPACE`
    : `${problem}, and TRIGGERS_WORKSPACE=${fallback} names no workspace`;
}
