import { AppError } from '#platform';

import type { Interrupt } from '../interrupt.js';

/** The request is unknown, belongs to another workspace, or the caller may not read its job. */
export const requestNotFound = () => new AppError({ code: 'not_found', message: 'Request not found' });

/** The request was settled before, with another outcome. `details` contains the status and the outcome. */
export const alreadyAnswered = ({ status, outcome }: Pick<Interrupt, 'status' | 'outcome'>) =>
  new AppError({
    code: 'already_answered',
    message: 'Request already answered',
    details: { status, outcome: outcome?.outcome ?? status },
  });

export const requestExpired = () => new AppError({ code: 'expired', message: 'Request expired' });
