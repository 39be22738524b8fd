import { createElement as h, useEffect, useState, type Element } from 'react';
import type { ShownSession } from '../money.ts';

/* The stablecoin payments of an order or of a payment collection, with the money that has to go back and its buttons. */

const BASE = '/admin/quittance';

/** The admin is signed in with a cookie, or with a token in its storage where it is set up so. */
async function asked<Answer>(path: string, body?: object): Promise<Answer> {
  const token = globalThis.localStorage?.getItem('medusa_auth_token');
  const response = await fetch(BASE + path, {
    method: body === undefined ? 'GET' : 'POST',
    credentials: 'include',
    headers: {
      'Content-Type': 'application/json',
      ...(token === null || token === undefined ? undefined : { Authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Answer & { readonly message?: string };
  if (!response.ok) throw new Error(answer.message ?? `HTTP ${response.status}`);
  return answer;
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function deposit(one: ShownSession['deposits'][number]): Element {
  const hash =
    one.explorer_url === null
      ? h('code', { style: { overflowWrap: 'anywhere' } }, one.tx_hash)
      : h(
          'a',
          { href: one.explorer_url, target: '_blank', rel: 'noreferrer', style: { overflowWrap: 'anywhere' } },
          one.tx_hash,
        );
  const kind = one.kind === 'on_time' ? '' : `, ${one.kind.replaceAll('_', ' ')}`;
  const sender = one.sender === null || one.sender === 'wallet' ? '' : `, from a ${one.sender} address`;
  return h(
    'li',
    { key: one.tx_hash + one.amount },
    `${one.amount} ${one.coin} on ${one.network}, ${one.status}${kind}${sender}: `,
    hash,
  );
}

function refund(one: ShownSession['refunds'][number]): Element {
  return h(
    'li',
    { key: one.id },
    `Refund of ${one.amount} ${one.coin}: ${one.status.toLowerCase()} `,
    h('code', { style: { overflowWrap: 'anywhere' } }, one.tx_hash ?? ''),
  );
}

function session(one: ShownSession): Element {
  const state = one.reversed ? 'left the blockchain again: do not deliver' : one.status;
  return h(
    'div',
    { key: one.id, className: 'px-6 py-4' },
    h(
      'p',
      null,
      `${one.amount} ${one.currency.toUpperCase()}: ${state}${one.pays_the_order ? ', pays this order' : ''}`,
    ),
    h('ul', null, ...one.deposits.map(deposit), ...one.refunds.map(refund)),
    one.to_return.length === 0
      ? null
      : h(
          'p',
          null,
          h('strong', null, `Money to return: ${one.to_return.map((x) => `${x.amount} ${x.coin}`).join(', ')}`),
        ),
  );
}

/** For an order (`order_...`) or a payment collection (`pay_col_...`). */
export function payments({ id }: { readonly id: string }): Element {
  const [sessions, setSessions] = useState<readonly ShownSession[]>([]);
  const [notice, setNotice] = useState('');
  const load = (): void => {
    asked<{ sessions: ShownSession[] }>(`/${id}`).then(
      (answer) => setSessions(answer.sessions),
      (error: unknown) => setNotice(said(error)),
    );
  };
  useEffect(load, [id]);
  const act = (path: string, body: object, done: string) => (): void => {
    asked(`/${id}/${path}`, body).then(
      () => {
        setNotice(done);
        load();
      },
      (error: unknown) => setNotice(said(error)),
    );
  };
  const button = (text: string, onClick: () => void): Element =>
    h(
      'button',
      { type: 'button', onClick, className: 'txt-compact-small-plus shadow-buttons-neutral rounded-md px-2 py-1' },
      text,
    );
  const hasMoney = sessions.some(({ to_return: pieces }) => pieces.length > 0);
  const needsWord = sessions.some(({ deposits }) =>
    deposits.some(({ sender }) => sender !== null && sender !== 'wallet'),
  );
  const isOrder = id.startsWith('order_');
  return h(
    'div',
    { className: 'shadow-elevation-card-rest bg-ui-bg-base w-full divide-y rounded-lg txt-compact-small' },
    h('div', { className: 'px-6 py-4' }, h('h2', null, 'Stablecoin payment')),
    ...sessions.map(session),
    sessions.length === 0 ? h('p', { className: 'px-6 py-4' }, 'None.') : null,
    h(
      'div',
      { className: 'flex flex-wrap gap-2 px-6 py-4' },
      hasMoney ? button('Return money that paid nothing', act('return', {}, 'The refunds are on their way.')) : null,
      needsWord && isOrder
        ? button(
            'The paying address can receive refunds',
            act('acknowledge', {}, 'Refunds may go to the paying address now.'),
          )
        : null,
      needsWord && hasMoney
        ? button(
            'Return it, the paying address can receive it',
            act('return', { acknowledge_sender: true }, 'The refunds are on their way.'),
          )
        : null,
      button('Look again', load),
    ),
    h('p', { role: 'status', className: 'px-6 py-2' }, notice),
  );
}

/** Money of the last month that pays no order. */
export function moneyToReturn(): Element {
  const [places, setPlaces] = useState<readonly string[]>([]);
  const [notice, setNotice] = useState('Looking…');
  useEffect(() => {
    asked<{ places: { place: string }[] }>('').then(
      (answer) => {
        setPlaces([...new Set(answer.places.map(({ place }) => place))]);
        setNotice(answer.places.length === 0 ? 'No money pays nothing.' : '');
      },
      (error: unknown) => setNotice(said(error)),
    );
  }, []);
  return h(
    'div',
    { className: 'flex flex-col gap-4' },
    h('h1', null, 'Stablecoin payments: money to return'),
    notice === '' ? null : h('p', { role: 'status' }, notice),
    ...places.map((id) => h('section', { key: id }, h('p', null, id), h(payments, { id }))),
  );
}
