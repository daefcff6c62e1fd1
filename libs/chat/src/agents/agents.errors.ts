import { AppError } from '#platform';

/** Unknown, archived, or of another workspace. */
export const agentNotFound = () => new AppError({ code: 'not_found', message: 'Agent not found' });
