import { expect, it } from 'vitest';
import { contactLink } from '../../../src/domain/contact.ts';

it.each([
  ['help@shop.example', 'mailto:help@shop.example'],
  ['first.last+orders@mail.shop.example', 'mailto:first.last+orders@mail.shop.example'],
  ['https://shop.example/help?about=payments#now', 'https://shop.example/help?about=payments#now'],
  ['https://hölp.example', 'https://xn--hlp-sna.example/'],
])('links %s to %s', (text, link) => {
  expect(contactLink(text)).toBe(link);
});

it.each([
  ...[
    '',
    ' ',
    'help',
    'help@shop',
    '@shop.example',
    'a@b@shop.example',
    'help@shop.example?bcc=thief@evil.example',
    'help@shop.example,other@shop.example',
  ],
  ...[
    'help@shop.example%0abcc:thief@evil.example',
    'Shop <help@shop.example>',
    'help@-shop.example',
    `${'a'.repeat(65)}@shop.example`,
  ],
  ...[
    'http://shop.example',
    'javascript:alert(1)',
    'data:text/html,hi',
    'mailto:help@shop.example',
    '//shop.example',
    'https://user:word@shop.example',
  ],
  ...['https://', 'shop.example', `https://shop.example/${'a'.repeat(200)}`],
])('does not link "%s"', (text) => {
  expect(contactLink(text)).toBeNull();
});
