import { InMemoryLRUCache, type KeyValueCache } from '@apollo/utils.keyvaluecache';

import { currentOperation } from './http-operation.js';

const limits = { max: 10_000, maxSize: 16 * 1024 * 1024 };
/** What Apollo Server puts before the id of a document. */
const prefix = 'apq:';

/**
 * Documents of automatic persisted queries, the most recently used 10,000 and 16 MiB of all workspaces. A workspace finds its own only, so that
 * no caller learns which documents others use. Documents that the operator allows are found by their ids without a registration.
 */
export class PersistedQueries implements KeyValueCache {
  private readonly documents = new InMemoryLRUCache<string>(limits);

  get(key: string): Promise<string | undefined> {
    const operation = currentOperation();
    const allowed = operation.allowedDocument(key.slice(prefix.length));
    return allowed === undefined ? this.documents.get(`${operation.tenant} ${key}`) : Promise.resolve(allowed);
  }

  /** Apollo Server stores a document once its operation is accepted. */
  set(key: string, document: string): Promise<void> {
    return this.documents.set(`${currentOperation().tenant} ${key}`, document);
  }

  async delete(key: string): Promise<boolean> {
    return this.documents.delete(`${currentOperation().tenant} ${key}`);
  }
}
