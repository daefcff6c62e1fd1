import { asking, type Connection } from './connection.js';
import { type JobFilterInput, JobsDocument } from './generated/graphql.js';
import type { JobState } from './job-handle.js';
import { type Page, type PageOptions, toPage } from './page.js';

/** The jobs of the workspace that one may see. */
export class Jobs {
  constructor(private readonly connection: Connection) {}

  /** Newest first. */
  async list(filter: JobFilterInput = {}, { signal, ...page }: PageOptions = {}): Promise<Page<JobState>> {
    const options = asking(this.connection, signal);
    const { jobs } = await this.connection.http.execute(JobsDocument, { filter, ...page }, options);
    return toPage(jobs);
  }
}
