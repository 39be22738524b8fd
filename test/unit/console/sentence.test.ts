import { expect, it } from 'vitest';
import { asSentence } from '../../../src/console/sentence.ts';

it.each([
  ['refund_id is not a refund id', 'Refund id is not a refund id.'],
  ['no such transfer in the inbox', 'No such transfer in the inbox.'],
  ['the order pl_ab_cd is paid', 'The order pl_ab_cd is paid.'],
  ['', '.'],
])('a refusal is a sentence without the names that programs use: %s', (text, sentence) =>
  expect(asSentence(text)).toBe(sentence),
);
