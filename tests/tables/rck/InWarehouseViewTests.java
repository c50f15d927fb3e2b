package org.apache.iceberg.rest;

import java.util.UUID;

/** The kit's view tests, asking for locations inside the warehouse where the kit asks for a temporary folder. */
public class InWarehouseViewTests extends RESTCompatibilityKitViewCatalogTests {
  private final String folder = "s3://" + System.getProperty("warehouse") + "/asked/" + UUID.randomUUID();

  @Override
  protected String viewLocation(String... paths) {
    return folder + "/" + String.join("/", paths);
  }
}
