/** The tool that starts a job. */
export const startJob = 'start_job';
