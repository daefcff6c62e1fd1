import type { OutboundAnswer } from '#platform';

import { decodeText, isText, mediaTypeOf } from '../http/decode-text.js';
import { htmlToText } from './html-to-text.js';

/** Text to be shown, `shown` characters of it at most. Never ends within a character. */
export function cutText(text: string, shown: number): string {
  if (text.length <= shown) return text;
  const cut = text.slice(0, shown).replace(/[\ud800-\udbff]$/, '');
  return `${cut}\n[cut: ${cut.length} of ${text.length} characters]`;
}

/** The readable part of a response: its address, title and text. Throws when it is not text. */
export async function readWebPage(answer: OutboundAnswer, shown: number): Promise<string> {
  if (!isText(answer)) {
    throw new Error(`this is not text but ${mediaTypeOf(answer) === '' ? 'something binary' : mediaTypeOf(answer)}`);
  }
  const text = decodeText(answer);
  const isHtml = /html/.test(mediaTypeOf(answer)) || /^\s*<(?:!doctype html|html)/i.test(text.slice(0, 1_000));
  const page = isHtml ? await htmlToText(text, answer.url) : { title: '', text };
  const head = [`URL: ${answer.url}`, ...(page.title === '' ? [] : [`Title: ${page.title.slice(0, 300)}`])];
  const end = answer.isCut ? '\n[the rest of the page was not read]' : '';
  return `${head.join('\n')}\n\n${cutText(page.text, shown)}${end}`;
}
