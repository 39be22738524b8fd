import { createElement as h, type Element } from 'react';
import { moneyToReturn, payments } from './payments.ts';

/* What Medusa's own build of a plugin makes of widgets and pages. */

const orderPayments = ({ data }: { readonly data: { readonly id: string } }): Element => h(payments, { id: data.id });

const LABEL = 'Stablecoin payments';
const PATH = '/stablecoin-payments';

// oxlint-disable-next-line import/no-default-export -- Medusa's admin loads the default export.
export default {
  widgetModule: { widgets: [{ Component: orderPayments, zone: ['order.details.after'] }] },
  routeModule: { routes: [{ Component: moneyToReturn, path: PATH }] },
  menuItemModule: { menuItems: [{ label: LABEL, path: PATH }] },
  formModule: { customFields: {} },
  displayModule: { displays: {} },
  i18nModule: { resources: {} },
};
