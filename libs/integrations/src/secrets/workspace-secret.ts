import type { SealedColumn, Secret, SecretPlace } from '#platform';
import { toStorableText } from '#platform';

/** A secret of a workspace, without its value, which is never returned. */
export interface WorkspaceSecret {
  readonly id: string;
  readonly name: string;
  /** The principal id of its last setter. */
  readonly setBy: string;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The allowed names in `{{secret:NAME}}`: a letter, then letters, digits and `_`, 64 at most. */
export const SECRET_NAME = /^[A-Za-z]\w{0,63}$/;

/** Shorter values may be ordinary words, which redaction could not distinguish from other tool output. */
const SHORTEST = 8;
const MAX_LENGTH = 8_192;

/** Why a text cannot be the value of a secret; null: it can. */
export function problemOfValue(secret: Secret): string | null {
  const value = secret.reveal();
  if (value.length < SHORTEST || value.length > MAX_LENGTH)
    return `a secret has ${SHORTEST} to ${MAX_LENGTH} characters`;
  return toStorableText(value) === value ? null : 'it contains characters that cannot be stored';
}

/** The place that a secret is bound to when it is sealed. */
export function secretPlace(workspaceId: string, id: string): SecretPlace {
  return { workspaceId, table: 'workspace_secret', row: id, field: 'cipher' };
}

/** The column of sealed secrets, which is sealed again after a rotation of the installation's secret. */
export const toolSecrets: SealedColumn = {
  table: 'workspace_secret',
  column: 'cipher',
  placeOf: ({ workspaceId, id }) => secretPlace(workspaceId, id),
};
