import { asking, type Connection } from './connection.js';
import { type JobFilterInput, JobOfMessageDocument, JobsDocument } from './generated/graphql.js';
import type { JobState } from './job-handle.js';
import { type Page, type PageOptions, toPage } from './page.js';
import type { WaitOptions } from './wait-options.js';

/** The jobs of the workspace that the caller may see. */
export class Jobs {
  constructor(private readonly connection: Connection) {}

  /**
   * The newest job that writes a message of a thread. Both are identified by the server id or by the id that the client chose. Null: the caller
   * may see no such job.
   */
  async ofMessage(
    { threadId, messageId }: { readonly threadId: string; readonly messageId: string },
    { signal }: WaitOptions = {},
  ): Promise<JobState | null> {
    const options = asking(this.connection, signal);
    const { jobOfMessage } = await this.connection.http.execute(JobOfMessageDocument, { threadId, messageId }, options);
    return jobOfMessage;
  }

  /** Lists jobs, newest first. */
  async list(filter: JobFilterInput = {}, { signal, ...page }: PageOptions = {}): Promise<Page<JobState>> {
    const options = asking(this.connection, signal);
    const { jobs } = await this.connection.http.execute(JobsDocument, { filter, ...page }, options);
    return toPage(jobs);
  }
}
