import { Injectable } from '@nestjs/common';
import type { FileReference, NewFile, WorkspaceFiles } from '@nightshift/plugin';

import { Files, type StoredFile, toFileName } from '#files';
import { AppError, Config } from '#platform';

/** Whose files are read and written. */
interface FileOwner {
  readonly workspaceId: string;
  /** The user to whom new files belong. Null: the system. */
  readonly userId: string | null;
}

/** The files of a workspace, for the code of tools. */
@Injectable()
export class ToolFiles {
  constructor(
    private readonly files: Files,
    private readonly config: Config,
  ) {}

  /** The rights are those of the job: whoever may start jobs of a workspace may read and upload its files. */
  of(owner: FileOwner): WorkspaceFiles {
    return {
      get: async (hash) => {
        this.assertReachable();
        const [file] = await this.files.use(owner.workspaceId, [hash]);
        if (file === undefined) throw notFound();
        return { ...toReference(file), data: await this.files.read(file) };
      },
      put: (file) => this.put(owner, file),
    };
  }

  private async put({ workspaceId, userId }: FileOwner, { name: given, mime, data }: NewFile): Promise<FileReference> {
    this.assertReachable();
    const name = typeof given === 'string' ? toFileName(given) : null;
    if (name === null) throw invalid('name must be a file name of 1 to 255 characters');
    if (typeof mime !== 'string') throw invalid('mime must be a media type');
    const content = typeof data === 'string' ? Buffer.from(data) : data;
    if (!(content instanceof Uint8Array)) throw invalid('data must be a Uint8Array or a text');
    return toReference(
      await this.files.save({ workspaceId, createdBy: userId, content, mime: mime.toLowerCase(), name }),
    );
  }

  /** The database login of role tools sees no files, and its process has no access to the bucket. */
  private assertReachable(): void {
    if (this.config.values.ROLE === 'tools') throw filesUnavailable();
  }
}

function toReference({ hash, mime, name, bytes }: StoredFile): FileReference {
  return { hash, mime, name, bytes };
}

function invalid(problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `The file cannot be stored: ${problem}` });
}

function notFound(): AppError {
  return new AppError({ code: 'not_found', message: 'The workspace has no file with this hash' });
}

function filesUnavailable(): AppError {
  return new AppError({
    code: 'files_unavailable',
    message:
      'Files cannot be reached in a process of role tools. Run the tool with isolation "worker", or serve the queue tool-execution in a worker',
  });
}
