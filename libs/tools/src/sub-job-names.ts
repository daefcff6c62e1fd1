/** The prefix of the names of tools that run as sub-jobs. */
export const subJobPrefix = 'workflow.';

/** Whether a job with these pinned tools may start sub-jobs. */
export function mayStartSubJobs(toolPins: Readonly<Record<string, string>>): boolean {
  return Object.keys(toolPins).some((name) => name.startsWith(subJobPrefix));
}
