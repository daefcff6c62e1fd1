import type { SealedColumn, Secret, SecretPlace } from '#platform';
import { toStorableText } from '#platform';

/** A secret of a workspace, for people: everything but its value, which is never given out again. */
export interface WorkspaceSecret {
  readonly id: string;
  readonly name: string;
  /** Principal id of who last set it. */
  readonly setBy: string;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Names are what `{{secret:NAME}}` refers to: a letter, then letters, digits and `_`, 64 at most. */
export const SECRET_NAME = /^[A-Za-z]\w{0,63}$/;

/** Shorter ones are words of ordinary text: redaction could not distinguish them from other tool output. */
const SHORTEST = 8;
const LONGEST = 8_192;

/** Why a text cannot be a secret; null: it can. */
export function problemOfValue(secret: Secret): string | null {
  const value = secret.reveal();
  if (value.length < SHORTEST || value.length > LONGEST) return `a secret has ${SHORTEST} to ${LONGEST} characters`;
  return toStorableText(value) === value ? null : 'it contains characters that cannot be stored';
}

/** Where a secret is sealed to. */
export function secretPlace(workspaceId: string, id: string): SecretPlace {
  return { workspaceId, table: 'workspace_secret', row: id, field: 'cipher' };
}

/** The sealed values of secrets, for a change of the installation's secret. */
export const toolSecrets: SealedColumn = {
  table: 'workspace_secret',
  column: 'cipher',
  placeOf: ({ workspaceId, id }) => secretPlace(workspaceId, id),
};
