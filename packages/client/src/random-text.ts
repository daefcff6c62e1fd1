/** 32 random characters. Not crypto.randomUUID: browsers have it in a secure context only. */
export function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
