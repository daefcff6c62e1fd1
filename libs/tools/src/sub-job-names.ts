/** How the names of tools begin whose calls are jobs of their own. */
export const subJobPrefix = 'workflow.';

/** Whether a job whose tools are pinned so may start jobs. */
export function mayStartSubJobs(toolPins: Readonly<Record<string, string>>): boolean {
  return Object.keys(toolPins).some((name) => name.startsWith(subJobPrefix));
}
