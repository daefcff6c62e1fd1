/** A document as it is stored. */
export interface StoredDocument {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A condition on a field. */
export interface Match {
  readonly field: string;
  readonly op: string;
  readonly value: unknown;
}

/** Documents in memory, by path. */
export class DocumentStore {
  private readonly documents = new Map<string, StoredDocument>();

  get(path: string): StoredDocument | undefined {
    return this.documents.get(path);
  }

  /** False: a document with this path exists. */
  create(path: string, document: StoredDocument): boolean {
    if (this.documents.has(path)) return false;
    this.documents.set(path, document);
    return true;
  }

  put(path: string, document: StoredDocument): void {
    this.documents.set(path, document);
  }

  delete(path: string): void {
    this.documents.delete(path);
  }

  /** The documents of a collection, in the order of their creation. */
  list(collection: string): readonly StoredDocument[] {
    const isIn = (path: string) => path.slice(0, path.lastIndexOf('/')) === collection;
    return [...this.documents].flatMap(([path, document]) => (isIn(path) ? [document] : []));
  }

  matches(document: StoredDocument, conditions: readonly Match[]): boolean {
    return conditions.every(({ field, op, value }) => {
      if (op !== '==') throw new Error(`operator ${op} is not supported`);
      return document[field] === value;
    });
  }

  /** `body` as `POST /query` takes it. The cursor is the id of the last document of a page. */
  query(body: Readonly<Record<string, unknown>>): { documents: readonly StoredDocument[]; nextCursor?: string } {
    const { collection, filters = [], orderBy = [], limit = 100, startAfter } = body as unknown as StoreQuery;
    const found = this.list(collection).filter((document) => this.matches(document, filters));
    for (const { field, direction } of orderBy.toReversed())
      found.sort((a, b) => compare(a[field], b[field]) * (direction === 'desc' ? -1 : 1));
    const from = startAfter === undefined ? 0 : found.findIndex(({ id }) => id === startAfter) + 1;
    const documents = found.slice(from, from + limit);
    const last = documents.at(-1);
    return last === undefined || from + limit >= found.length ? { documents } : { documents, nextCursor: last.id };
  }
}

interface StoreQuery {
  readonly collection: string;
  readonly filters?: readonly Match[];
  readonly orderBy?: readonly { readonly field: string; readonly direction: string }[];
  readonly limit?: number;
  readonly startAfter?: string;
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}
