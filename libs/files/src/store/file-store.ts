/** Where the content of one file is. An id is used for one content only. */
export interface FilePlace {
  readonly workspaceId: string;
  readonly id: string;
}

/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A content to be stored, with its SHA-256 in hex. */
export interface FileContent {
  readonly content: Uint8Array;
  readonly hash: string;
}

/**
 * Keeps contents, written once and never changed. Each adapter passes `test/contracts/file-store.contract.ts`.
 *
 * Promises: after `put` every process can read the content. `read` resolves with exactly the bytes of the range, which lies within the
 * content; it rejects with `not_found` if the content is absent, and with `unavailable` if the store does not respond. `has` tells whether the
 * content exists and can be read, without reading it. `delete` of an absent content does nothing. A content is found with the id of its own workspace only.
 */
export interface FileStore {
  put(place: FilePlace, file: FileContent): Promise<void>;
  read(place: FilePlace, range: ByteRange): Promise<Uint8Array>;
  has(place: FilePlace): Promise<boolean>;
  delete(place: FilePlace): Promise<void>;
}
