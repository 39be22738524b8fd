import { parseSessionId, type SessionId } from '../../../domain/values/ids.ts';
import { merchantPath } from '../../layout.ts';
import { NO_SUCH, type Visit, merchantOf } from '../../visit.ts';

/** The payment named in the path. Throws `Refused`. */
export function paymentOf({ params }: Visit): SessionId {
  const id = parseSessionId(params['payment'] ?? '');
  if (id === null) throw NO_SUCH();
  return id;
}

export const paymentPath = (visit: Visit, id: string): string => `${merchantPath(merchantOf(visit))}/payments/${id}`;
