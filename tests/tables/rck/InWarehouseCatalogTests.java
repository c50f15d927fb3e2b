package org.apache.iceberg.rest;

import org.apache.iceberg.catalog.TableIdentifier;

/** The kit's catalog tests, asking for locations inside the warehouse where the kit asks for folders under /tmp. */
public class InWarehouseCatalogTests extends RESTCompatibilityKitCatalogTests {
  @Override
  protected String baseTableLocation(TableIdentifier table) {
    return "s3://" + System.getProperty("warehouse") + "/asked/" + table.namespace() + "/" + table.name();
  }
}
