import { Injectable, type OnModuleDestroy } from '@nestjs/common';

import { Config, GuardedFetch, Redactor, Secret } from '#platform';

import { storeUnavailable } from './file-store.errors.js';
import type { FileStore } from './file-store.js';
import { PostgresFileStore } from './postgres-file-store.repository.js';
import { S3FileStore } from './s3-file-store.js';

/** The stores by the name that the row of a file has. */
export type StoreName = 'postgres' | 's3';

/** The store for new files, and those of all files: a changed setting leaves older files where they are. */
@Injectable()
export class FileStores implements OnModuleDestroy {
  readonly current: StoreName;
  /** The operator has set up the bucket, which may be in the operator's own network. */
  private readonly client = new GuardedFetch({ allowPrivate: true });
  private readonly s3: S3FileStore | null;

  constructor(
    private readonly postgres: PostgresFileStore,
    { values }: Config,
    redactor: Redactor,
  ) {
    const { S3_BUCKET_URL: url, S3_REGION: region, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: key } = values;
    if (url === undefined || accessKeyId === undefined || key === undefined) {
      this.s3 = null;
    } else {
      const secretAccessKey = new Secret(key);
      redactor.add(secretAccessKey);
      this.s3 = new S3FileStore({ url, region, accessKeyId, secretAccessKey }, this.client);
    }
    this.current = this.s3 === null ? 'postgres' : 's3';
  }

  /** Throws `unavailable` for a store that this process has no access to. */
  of(name: string): FileStore {
    const store = name === 'postgres' ? this.postgres : this.s3;
    if (store === null) throw storeUnavailable(new Error('S3_BUCKET_URL and its key are not set'));
    return store;
  }

  async onModuleDestroy(): Promise<void> {
    await this.client.close();
  }
}
