import type { Mode } from '../domain/ids.ts';
import type { ShownMerchant, Visit } from './visit.ts';

const isMode = (text: string | null | undefined): text is Mode => text === 'live' || text === 'test';
export const isModeAsked = (text: string | null): boolean => text === null || isMode(text);
export const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

/** What there is to look at when nobody says: real money, once there is a merchant for it. */
export const firstMode = (merchants: readonly ShownMerchant[]): Mode =>
  merchants.some(({ mode }) => mode === 'live') ? 'live' : 'test';

/** The mode of a page: its merchant's, that of its path, that of its address; a form's is that of the page it stood on. */
export function modeOfVisit(
  { params, query, form, merchant }: Pick<Visit, 'params' | 'query' | 'form' | 'merchant'>,
  first: Mode,
): Mode {
  const cameFrom = new URLSearchParams(form['back']?.split('?')[1] ?? '');
  const asked = [merchant?.mode, params['mode'], query.get('mode'), cameFrom.get('mode')].find(isMode);
  return asked ?? first;
}

/** The same address in a mode; it stays in the address, so that a page can be sent to somebody. */
export function inMode(to: string, mode: Mode): string {
  const [path = '', query = ''] = to.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('mode', mode);
  return `${path}?${parameters.toString()}`;
}

/** Where the switch leads: to the same page where there is one, else to the list that it belongs to. */
export function switched({ path, params, merchant }: Pick<Visit, 'path' | 'params' | 'merchant'>, to: Mode): string {
  if (merchant !== null) return inMode('/merchants', to);
  const [first, , page, ...further] = path.slice(1).split('/');
  if (isMode(params['mode'])) {
    const isList = further.length === 0 && page !== 'account';
    return `/${first}/${to}${page !== undefined && isList ? `/${page}` : ''}`;
  }
  return inMode(Object.keys(params).length === 0 ? path : `/${first}`, to);
}
