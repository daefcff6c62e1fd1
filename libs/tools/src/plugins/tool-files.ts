import { Injectable } from '@nestjs/common';
import type { FileReference, FileWithContent, NewFile, WorkspaceFiles } from '@nightshift/plugin';

import { Files, type StoredFile } from '#files';
import { AppError, Config } from '#platform';

import { toFileContent } from './file-content.js';
import { FileOutbox } from './file-outbox.js';

/** The job and user whose files are read and written. */
interface FileOwner {
  readonly workspaceId: string;
  /** The user to whom new files belong. Null: the system. */
  readonly userId: string | null;
}

/** The files of a workspace, for the code of plugins. */
@Injectable()
export class ToolFiles {
  constructor(
    private readonly files: Files,
    private readonly config: Config,
  ) {}

  /** Applies the rights of the job: a principal that may start jobs in a workspace may read and upload its files. */
  of(owner: FileOwner): WorkspaceFiles {
    if (this.isToolProcess) return { get: (hash) => this.named(owner, hash), put: () => Promise.reject(cannotStore()) };
    return { get: (hash) => this.get(owner, hash), put: (file) => this.put(owner, file) };
  }

  /** Collects the artifacts of one call; null: this process stores artifacts itself. */
  outbox(): FileOutbox | null {
    if (!this.isToolProcess) return null;
    return new FileOutbox((mime, content) => {
      this.files.assertStorable(mime, content);
    });
  }

  /**
   * The database login of a tool process can read only the files that its calls name, and can write none. The process has no access to the
   * bucket.
   */
  private get isToolProcess(): boolean {
    return this.config.values.ROLE === 'tools';
  }

  private async get({ workspaceId }: FileOwner, hash: string): Promise<FileWithContent> {
    const [file] = await this.files.use(workspaceId, [hash]);
    if (file === undefined) throw notFound('The workspace has no file with this hash');
    return { ...toReference(file), data: await this.files.read(file) };
  }

  private async named({ workspaceId }: FileOwner, hash: string): Promise<FileWithContent> {
    const file = await this.files.named(workspaceId, hash);
    if (file === null)
      throw notFound('The workspace has no file with this hash, or the arguments of the call do not contain it');
    if (file.store !== 'postgres') throw inBucket();
    return { ...toReference(file), data: await this.files.read(file) };
  }

  private async put({ workspaceId, userId }: FileOwner, file: NewFile): Promise<FileReference> {
    return toReference(await this.files.save({ workspaceId, createdBy: userId, ...toFileContent(file) }));
  }
}

function toReference({ hash, mime, name, bytes }: Pick<StoredFile, keyof FileReference>): FileReference {
  return { hash, mime, name, bytes };
}

function notFound(message: string): AppError {
  return new AppError({ code: 'not_found', message });
}

const elsewhere = 'or run the tool with isolation "worker"';

function cannotStore(): AppError {
  const message = `A process of role tools cannot store files during a call. Return the file as an artifact of the result, ${elsewhere}`;
  return new AppError({ code: 'files_unavailable', message });
}

function inBucket(): AppError {
  const message = `A process of role tools cannot read files in an S3 bucket. Serve the queue tool-execution in a worker, ${elsewhere}`;
  return new AppError({ code: 'files_unavailable', message });
}
