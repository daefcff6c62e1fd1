/** Content that becomes a file of the workspace. */
export interface NewFile {
  /** 1 to 255 characters; the folders of a path are left out. */
  readonly name: string;
  /** Its media type, one that the server allows (FILE_TYPES). */
  readonly mime: string;
  /** Its content: bytes, or a text in UTF-8. */
  readonly data: Uint8Array | string;
}

/** A file of the workspace, in the format of `attachments` of a start. */
export interface FileReference {
  /** SHA-256 of the content, in lower-case hex. */
  readonly hash: string;
  readonly mime: string;
  /** The name of its first upload. */
  readonly name: string | null;
  readonly bytes: number;
}

/** A file with its content. */
export interface FileWithContent extends FileReference {
  readonly data: Uint8Array;
}

/**
 * The files of the workspace of the job. Both functions reject with an error whose `code` is `unavailable` while the storage does not
 * respond. In a process of role `tools`, `get` finds only files whose hashes are in the arguments of the call, and rejects with
 * `files_unavailable` for a file in a bucket; `put` always rejects with `files_unavailable`: return files as artifacts instead.
 */
export interface WorkspaceFiles {
  /** Rejects with the code `not_found` if the workspace has no such file. */
  get(hash: string): Promise<FileWithContent>;
  /**
   * Stores content; the same content is stored once and keeps the name and the type of its first upload. Rejects with the codes
   * `bad_request` (the content is empty, or the name is invalid), `unsupported_media_type`, `too_large`, `limit_reached` (the workspace is
   * full).
   */
  put(file: NewFile): Promise<FileReference>;
}

/**
 * A result with files: an object with exactly these two members. Each artifact, at most 20, becomes a file of the workspace, and the stored
 * result has its `name`, `mime`, `hash` and `bytes` in place of its data. An artifact that is refused has an `error` instead of a hash.
 */
export interface ResultWithArtifacts {
  /** Text or JSON, for the model. */
  readonly content: unknown;
  readonly artifacts: readonly NewFile[];
}
