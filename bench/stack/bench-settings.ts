/** The settings of a measured process: those of production, with the caps out of the way. */
export function benchSettings(modelUrl: string): Record<string, string> {
  return {
    NODE_ENV: 'production',
    LOG_LEVEL: 'info', // announces the start of the process; each job and tool call is logged, too
    MODEL_BASE_URL: modelUrl,
    MODEL_NAME: 'scripted',
    WORKER_SLOTS: '500',
    STARTS_PER_MINUTE: '1000000',
    STARTS_PER_MINUTE_PER_WORKSPACE: '1000000',
    MAX_UNFINISHED_JOBS: '1000000',
    MAX_UNFINISHED_JOBS_PER_USER: '1000000',
    SOCKETS_PER_USER: '100000',
    STREAMS_PER_PRINCIPAL: '100000',
    STREAMS_PER_JOB: '100000',
  };
}
