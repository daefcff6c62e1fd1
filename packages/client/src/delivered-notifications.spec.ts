import { describe, expect, it } from '@jest/globals';

import { DeliveredNotifications } from './delivered-notifications.js';

describe('DeliveredNotifications', () => {
  it('delivers a notification again only after it was read', () => {
    const told = new DeliveredNotifications();
    const heard = [
      { id: 'a', read: false },
      { id: 'b', read: false },
      { id: 'a', read: false },
      { id: 'a', read: true },
      { id: 'a', read: true },
    ];
    expect(heard.map((one) => told.isNews(one))).toEqual([true, true, false, true, false]);
  });

  it('forgets a notification after as many newer ones as the server keeps', () => {
    const told = new DeliveredNotifications();
    const tell = (id: number) => told.isNews({ id: String(id), read: false });
    for (let id = 0; id < 1_001; id += 1) expect(tell(id)).toBe(true);
    expect([tell(1_000), tell(1), tell(0)]).toEqual([false, false, true]);
  });
});
