import type { Mode } from '../domain/values/ids.ts';
import type { ShownMerchant, Visit } from './visit.ts';

const isMode = (text: string | null | undefined): text is Mode => text === 'live' || text === 'test';
export const isModeAsked = (text: string | null): boolean => text === null || isMode(text);
export const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

/** The mode when the request names none: live once there is a live merchant. */
export const firstMode = (merchants: readonly ShownMerchant[]): Mode =>
  merchants.some(({ mode }) => mode === 'live') ? 'live' : 'test';

/** The mode of a page: its merchant's, else that of the path, else that of the query; a form has its page's mode. */
export function modeOfVisit(
  { params, query, form, merchant }: Pick<Visit, 'params' | 'query' | 'form' | 'merchant'>,
  first: Mode,
): Mode {
  const cameFrom = new URLSearchParams(form['back']?.split('?')[1] ?? '');
  const asked = [merchant?.mode, params['mode'], query.get('mode'), cameFrom.get('mode')].find(isMode);
  return asked ?? first;
}

/** The same URL with the mode in its query, so that a page can be sent to somebody. */
export function inMode(to: string, mode: Mode): string {
  const [path = '', query = ''] = to.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('mode', mode);
  return `${path}?${parameters.toString()}`;
}

/** Where the mode switch leads: to the same page in the other mode if it exists, else to the list it belongs to. */
export function switched({ path, params, merchant }: Pick<Visit, 'path' | 'params' | 'merchant'>, to: Mode): string {
  if (merchant !== null) return inMode('/merchants', to);
  const [first, , page, ...further] = path.slice(1).split('/');
  if (isMode(params['mode'])) {
    const isList = further.length === 0 && page !== 'account';
    return `/${first}/${to}${page !== undefined && isList ? `/${page}` : ''}`;
  }
  return inMode(Object.keys(params).length === 0 ? path : `/${first}`, to);
}
