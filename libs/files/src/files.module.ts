import { Module, type OnModuleInit } from '@nestjs/common';

import { JobsModule, Retention } from '#jobs';

import { FilesRepository } from './files.repository.js';
import { Files } from './files.service.js';
import { FileStores } from './store/file-stores.js';
import { PostgresFileStore } from './store/postgres-file-store.repository.js';

/** The files of workspaces. Requires a global `PlatformModule`. */
@Module({ providers: [Files, FilesRepository, FileStores, PostgresFileStore], exports: [Files] })
export class FilesModule {}

/** Removes files that are no longer needed. For processes that maintain the database. */
@Module({ imports: [FilesModule, JobsModule] })
export class FileRetentionModule implements OnModuleInit {
  constructor(
    private readonly retention: Retention,
    private readonly files: Files,
  ) {}

  onModuleInit(): void {
    this.retention.register(this.files);
  }
}
