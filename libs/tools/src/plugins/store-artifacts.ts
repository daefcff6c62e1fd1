import type { FileReference, NewFile, ResultWithArtifacts, WorkspaceFiles } from '@nightshift/plugin';

import { AppError } from '#platform';

/** The store for files. */
type Store = Pick<WorkspaceFiles, 'put'>;

interface StoreOptions {
  readonly signal: AbortSignal;
  /** Which errors become part of the entry; other errors reject. Default: all errors of the store. */
  readonly isFinal?: (error: AppError) => boolean;
}

/** Maximum artifacts of one result; each may have the size of a file (MAX_FILE_BYTES). */
const maxArtifacts = 20;

/** An artifact in the stored result. */
export type StoredArtifact =
  | FileReference
  | {
      readonly name: unknown;
      readonly mime: unknown;
      readonly error: { readonly code: string; readonly message: string };
    };

/**
 * Stores the artifacts of a result and returns the result with their hashes; any other result is returned unchanged. A rejected artifact does
 * not fail the call, whose effect has already happened: its entry has the error. Rejects once `signal` aborts.
 */
export async function storeArtifacts(result: unknown, files: Store, signal: AbortSignal): Promise<unknown> {
  if (!hasArtifacts(result)) return result;
  return { content: result.content, artifacts: await storeFiles(result.artifacts, files, { signal }) };
}

/** Returns the entries of the files for the result. The entry of a file that is refused has an error. Rejects once `signal` aborts. */
export async function storeFiles(
  files: readonly NewFile[],
  to: Store,
  { signal, isFinal = () => true }: StoreOptions,
): Promise<readonly StoredArtifact[]> {
  const stored: StoredArtifact[] = [];
  // One file at a time, so that memory does not hold the contents of several statements.
  for (const [index, file] of files.entries()) {
    signal.throwIfAborted();
    stored.push(index < maxArtifacts ? await store(file, to, isFinal) : refused(file, tooMany()));
  }
  return stored;
}

/** Whether a result has exactly the two members, and all its artifacts have data. JSON of another shape is an ordinary result. */
function hasArtifacts(result: unknown): result is ResultWithArtifacts {
  if (typeof result !== 'object' || result === null) return false;
  const { content, artifacts, ...others }: Partial<ResultWithArtifacts> = result;
  return (
    content !== undefined &&
    Array.isArray(artifacts) &&
    Object.keys(others).length === 0 &&
    artifacts.every((artifact: unknown) => typeof artifact === 'object' && artifact !== null && 'data' in artifact)
  );
}

async function store(artifact: NewFile, files: Store, isFinal: (error: AppError) => boolean): Promise<StoredArtifact> {
  try {
    // The artifact keeps its own name: the store may know the content under another one.
    return { ...(await files.put(artifact)), name: artifact.name };
  } catch (error) {
    if (!(error instanceof AppError) || !isFinal(error)) throw error;
    return refused(artifact, error);
  }
}

function refused({ name, mime }: NewFile, { code, message }: AppError): StoredArtifact {
  return { name, mime, error: { code, message } };
}

function tooMany(): AppError {
  return new AppError({ code: 'too_large', message: `A result can have at most ${maxArtifacts} artifacts` });
}
